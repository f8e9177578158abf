import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { prepare, root, runWithNode } from './toolchain/checkout.mjs'
import { runCommand, SetupError } from './toolchain/setup-error.mjs'

/** `npm run example -- list-tools`: runs an example of the client with the client's source, against a running server. */
await runCommand(async () => {
  const [name = 'list-tools', ...args] = process.argv.slice(2)
  const path = join(root, 'packages/client/examples', `${name}.mjs`)
  if (!/^[a-z-]+$/.test(name) || !existsSync(path))
    throw new SetupError(
      'There is no such example: packages/client/examples holds agent, list-tools and run-calls.',
      64,
    )
  const node = await prepare('runtime')
  return (await runWithNode(node, ['--conditions=@toolrack/source', path, ...args])).code
})
