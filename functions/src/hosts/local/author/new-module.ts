import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { AuthorSession } from './author-session.ts'
import { AuthorError } from './author-error.ts'
import { checkModule } from './check-module.ts'
import { newModuleSource, newTestSource } from './new-module-source.ts'
import { moduleNameOf } from './read-module.ts'
import { isAllGood, reportLines } from './report-lines.ts'

type NewModule = { readonly name: string; readonly path: string; readonly test: string }

/** A module that can be written at this path, and the path of its test. Throws an AuthorError if something is in the way. */
export function newModule(path: string): NewModule {
  const name = moduleNameOf(path)
  const folder = dirname(path)
  // The folder of the tests is no module, so a watched folder ignores it.
  const test = join(folder, 'tests', `test_${name}.py`)
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new AuthorError(`There is no folder ${folder}. Make it first.`)
  for (const file of [path, test])
    if (existsSync(file)) throw new AuthorError(`${file} exists already. Nothing was written.`)
  return { name, path, test }
}

/**
 * Writes a module with an example, and a test of it. The runner checks the module first, so a name that no module can have is
 * refused with the sentence of an upload. Resolves to what to tell the author. Throws an AuthorError, and writes nothing then.
 */
export async function writeNewModule(
  session: AuthorSession,
  { name, path, test }: NewModule,
): Promise<readonly string[]> {
  const source = newModuleSource(name)
  const checked = await checkModule(session, { name, source: Buffer.from(source) })
  if (!isAllGood(checked)) throw new AuthorError(whyNot(checked))
  try {
    mkdirSync(dirname(test), { recursive: true })
    writeFileSync(path, source, { flag: 'wx' })
    writeFileSync(test, newTestSource(name), { flag: 'wx' })
  } catch (error) {
    throw new AuthorError(`It cannot be written there (${(error as NodeJS.ErrnoException).code}).`)
  }
  return [
    `${path}: a module with the tool ${name}:repeat`,
    `${test}: its test, for: python -m pytest ${test}`,
    '',
    `npm run tool -- check ${path}`,
    `npm run tool -- call ${path} repeat text=hello times=3`,
  ]
}

function whyNot(checked: Parameters<typeof reportLines>[0]): string {
  const [, ...lines] = reportLines(checked)
  return `${lines.map((line) => line.trim()).join(' ')} Nothing was written.`
}
