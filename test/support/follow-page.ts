import { expect } from '@jest/globals'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { furnish, patternOf, printedBy, stepsOf, terminalOf, type PageStep } from './page-commands.ts'
import type { Server } from './server.ts'
import { ROOT } from './source-tree.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { until } from './until.ts'

/** The text of a page, by its path in the checkout. */
export function read(page: string): string {
  return readFileSync(new URL(page, ROOT), 'utf8')
}

/**
 * Runs all commands of a page, or of the part `content` of it. Compares what each block prints, and what the server shows, with the
 * page.
 */
export async function follow(
  page: string,
  server: Server,
  files: Readonly<Record<string, string>> = {},
  content: string = read(page),
): Promise<readonly PageStep[]> {
  using folder = temporaryFolder()
  furnish(folder.path, server)
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder.path, name), content)
  const all = stepsOf(content)
  // The test itself has started the server.
  const steps = all.filter(({ commands }) => !commands.includes('npm start'))
  const [said, logged] = [server.said.length, server.log.length]
  const printed = await printedBy(steps, folder.path, server)
  expect(printed).toHaveLength(steps.length)
  const other = steps.flatMap((step, index) => {
    const found = printed[index] ?? ''
    // Commands without a block below them print nothing.
    const shown = step.printed.length > 0 ? step.printed : ['']
    const wrong = shown.filter((text) => !new RegExp(`^${patternOf(text)}$`).test(found))
    return wrong.map((text) => ({ line: step.line, shown: text, printed: found }))
  })
  expect(other).toEqual([])
  for (const shown of all.flatMap(({ terminal }) => terminal))
    await until(
      () => Promise.resolve(terminalOf(server, said, logged)),
      (terminal) => new RegExp(patternOf(shown)).test(terminal),
    )
  return steps
}
