import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { partsOf, printedInFolder } from '../support/page-commands.ts'
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
  for (let call = 0; call < 3; call += 1) {
    const body = JSON.stringify({ name: 'ECHO', arguments: { text: 'hello' } })
    await (await server.fetch('/workflows/tools/invoke', { method: 'POST', body })).text()
  }
  const lines = COMMANDS.replace('npm run audit --', `'${process.execPath}' '${AUDIT}'`)
  const stdout = await printedInFolder(server, folder.path, lines)
  expect(stdout).toMatch(new RegExp(`^${partsOf(PRINTED).join('.+')}$`))
})
