import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { partsOf, printedInFolder } from '../support/page-commands.ts'
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
  for (const { commands, printed } of EXAMPLES) {
    const lines = commands.replace(
      'npm run validate -- ',
      `'${process.execPath}' '${root}scripts/validate.mjs' ${root}`,
    )
    const stdout = await printedInFolder(server, folder.path, lines)
    // A list has no line end.
    expect(`${stdout.trimEnd()}\n`).toMatch(new RegExp(`^${partsOf(printed).join('.*')}$`))
  }
})
