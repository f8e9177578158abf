import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { isSecretName, SECRET_NAME_RULE, valueFault } from '../../features/secrets/secret.ts'
import { hiddenLine } from './hidden-line.ts'
import { askServer, operatedServer, runOperatorCommand } from './operator-command.ts'

/**
 * The program of `npm run secrets`. It asks the embedded server that runs with the data folder `TOOLRACK_DATA`, because only this
 * server may use its database. The value of a secret comes from the terminal or through a pipe, never from the arguments, which
 * other programs can read. The exit code is 0 if everything was done, else 1.
 */
const { values, positionals } = parseArgs({ allowPositionals: true, options: { layer: { type: 'string' } } })
const [action = '', ...words] = positionals
const [name = '', ...more] = words.map(encodeURIComponent)
const layer = values.layer ?? 'user'
const query = `?layer=${encodeURIComponent(layer)}`

await runOperatorCommand(run)

async function run(): Promise<void> {
  if (action === 'list') return list()
  if (action === 'rotate') return rotate()
  if (action === 'set') {
    if (!isSecretName(name))
      throw new Error(
        `${words[0] ?? ''} cannot be the name of a secret: ${SECRET_NAME_RULE}. Nothing was stored.`,
      )
    // Nobody types a value that no server can take.
    operatedServer()
    const value = await readValue()
    const fault = valueFault(value)
    if (fault !== undefined) throw new Error(`The value cannot be stored: ${fault}. Nothing was stored.`)
    await askServer('PUT', `/secrets/${name}${query}`, { value })
    return console.log(`${words[0] ?? ''} is stored (layer ${layer}). Nobody can read it again.`)
  }
  if (action === 'delete') {
    await askServer('DELETE', `/secrets/${name}${query}`)
    return console.log(`${words[0] ?? ''} is deleted (layer ${layer}).`)
  }
  const [module = '', digest = ''] = more
  if (action === 'consent') {
    await askServer('PUT', `/secrets/consents/${name}/${module}`, { digest: decodeURIComponent(digest) })
    return console.log(`The ${words[0] ?? ''} module ${words[1] ?? ''} gets the secrets that it asks for.`)
  }
  await askServer('DELETE', `/secrets/consents/${name}/${module}`)
  console.log(`The ${words[0] ?? ''} module ${words[1] ?? ''} gets none of your secrets any more.`)
}

type Listed = { readonly name: string; readonly updatedAt: string }

async function list(): Promise<void> {
  const { items } = (await askServer('GET', `/secrets${query}`)) as { readonly items: readonly Listed[] }
  for (const secret of items) console.log(`${secret.name}  ${secret.updatedAt}`)
  if (items.length === 0) console.log(`There are no secrets (layer ${layer}).`)
}

type Rotated = {
  readonly key: string
  readonly resealed: number
  readonly unreadable: number
  readonly isDone: boolean
}

async function rotate(): Promise<void> {
  const { key, resealed, unreadable, isDone } = (await askServer('POST', '/secrets/keys/rotation')) as Rotated
  console.log(`${resealed} secrets were sealed again. The key is ${key} now.`)
  if (unreadable > 0)
    throw new Error(
      `${unreadable} secrets cannot be read, because their key is missing. The other keys were kept. Delete these secrets or put their key back, and rotate again.`,
    )
  if (!isDone) console.log('Now remove the other keys from TOOLRACK_SECRETS_KEY, and start the server again.')
}

async function readValue(): Promise<string> {
  // A file or a program usually ends its text with a line feed, which is not part of the secret.
  if (!process.stdin.isTTY) return (await text(process.stdin)).replace(/\r?\n$/, '')
  const value = await hiddenLine(process.stdin, () =>
    process.stderr.write(`Value of ${words[0] ?? ''} (it is not shown): `),
  )
  process.stderr.write('\n')
  if (value === undefined) throw new Error('Nothing was stored.')
  return value
}
