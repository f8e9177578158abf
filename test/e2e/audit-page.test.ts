import { expect, test } from '@jest/globals'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Server } from '../support/server.ts'
import { ROOT } from '../support/source-tree.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const PAGE = readFileSync(new URL('docs/explanation/audit.md', ROOT), 'utf8')
const AUDIT = fileURLToPath(new URL('scripts/audit.mjs', ROOT))

/** The commands that export and verify, and what the page says that they print. */
const [, COMMANDS = '', PRINTED = ''] = /^```sh\n(.*?)^```\n+^```text\n(.*?)^```/ms.exec(PAGE) ?? []

test('the commands of docs/explanation/audit.md verify an export, and print what the page shows', async () => {
  await using server = await Server.start()
  using folder = temporaryFolder()
  mkdirSync(join(folder.path, '.toolrack'))
  writeFileSync(join(folder.path, '.toolrack/token'), `${server.token}\n`)
  for (let call = 0; call < 3; call += 1) {
    const body = JSON.stringify({ name: 'ECHO', arguments: { text: 'hello' } })
    await (await server.fetch('/workflows/tools/invoke', { method: 'POST', body })).text()
  }
  const lines = COMMANDS.replaceAll('http://127.0.0.1:8787', server.url).replace(
    'npm run audit --',
    `'${process.execPath}' '${AUDIT}'`,
  )
  const { stdout } = await promisify(execFile)('sh', ['-ec', lines], {
    cwd: folder.path,
    env: { ...process.env, INIT_CWD: folder.path },
  })
  const pattern = PRINTED.split('…').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`))
  expect(stdout).toMatch(new RegExp(`^${pattern.join('.+')}$`))
})
