import { afterAll, expect } from '@jest/globals'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sharedServerWithRunner } from '../support/modules.ts'
import { asPattern, commandsOf, printedBy } from '../support/page-commands.ts'
import { withPython } from '../support/runner-environment.ts'
import { ROOT } from '../support/source-tree.ts'

const started = sharedServerWithRunner()
/** The folder of the reader, in which the server's data is as in a checkout. */
const folder = mkdtempSync(join(tmpdir(), 'toolrack-http-reference-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

withPython('docs/reference/http.md: each command prints what the page shows', async () => {
  const server = await started()
  symlinkSync(server.data, join(folder, '.toolrack'))
  const blocks = commandsOf(readFileSync(new URL('docs/reference/http.md', ROOT), 'utf8'))
  expect(blocks.length).toBeGreaterThan(8)
  const change = (text: string): string => text.replaceAll('http://127.0.0.1:8787', server.url)
  const printed = await printedBy(blocks, { folder, change })
  const other = blocks.flatMap(({ line, shown = '' }, index) => {
    const text = printed[index] ?? ''
    return asPattern(shown).test(text) ? [] : [{ line, shown, printed: text }]
  })
  expect(other).toEqual([])
})
