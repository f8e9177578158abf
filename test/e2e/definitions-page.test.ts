import { expect, test } from '@jest/globals'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Server } from '../support/server.ts'
import { ROOT } from '../support/source-tree.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const root = fileURLToPath(ROOT)
const PAGE = readFileSync(new URL('docs/reference/definitions.md', ROOT), 'utf8')

/** The commands of the page, each with what the page says that it prints. */
const EXAMPLES = Array.from(
  PAGE.matchAll(/^```sh\n(.*?)^```\n+^```text\n(.*?)^```/gms),
  ([, commands = '', printed = '']) => ({ commands, printed }),
)

test('the commands of docs/reference/definitions.md print what the page shows', async () => {
  expect(EXAMPLES).toHaveLength(3)
  await using server = await Server.start()
  using folder = temporaryFolder()
  mkdirSync(join(folder.path, '.toolrack'))
  writeFileSync(join(folder.path, '.toolrack/token'), `${server.token}\n`)
  for (const { commands, printed } of EXAMPLES) {
    const lines = commands
      .replaceAll('http://127.0.0.1:8787', server.url)
      .replace('npm run validate -- ', `'${process.execPath}' '${root}scripts/validate.mjs' ${root}`)
    const { stdout } = await promisify(execFile)('sh', ['-ec', lines], {
      cwd: folder.path,
      env: { ...process.env, INIT_CWD: folder.path },
    })
    const pattern = printed
      .split('…')
      .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`))
      .join('.*')
    // A list has no line end.
    expect(`${stdout.trimEnd()}\n`).toMatch(new RegExp(`^${pattern}$`))
  }
})
