import { afterAll, expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { copyOf, openedData, rulesOf } from '../../../support/opened-data.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const START = fileURLToPath(new URL('../../../support/kill-while-opening.ts', import.meta.url))

/** Opens the folder in a process that is killed before this operation on files. Returns the number of operations if it was not. */
function start(folder: string, killedAt: number, copies: readonly string[] = []): number | undefined {
  const args = ['--disable-warning=ExperimentalWarning', START, folder, String(killedAt), ...copies]
  const { signal, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (signal === 'SIGKILL') return undefined
  expect(stderr).toBe('')
  return Number(stdout)
}

/** The folder before each operation of a whole start, which also closes it. */
const copies = temporaryFolder()
afterAll(() => copies[Symbol.dispose]())

function operationsOfAStart(): number {
  using folder = temporaryFolder()
  return start(folder.path, -1, [copies.path]) ?? 0
}

const operations = operationsOfAStart()

/** The names and the contents of the files that a kill before this operation leaves. */
function leftBefore(operation: number): string {
  const folder = join(copies.path, String(operation))
  const all = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = all
    .filter((one) => one.isFile())
    .map(({ name }) => name)
    .toSorted()
  return files.map((name) => `${name} ${readFileSync(join(folder, name), 'base64')}`).join('\n')
}

/** The operations before which the files are others than before the operation before it. Half of them change no file. */
const places = Array.from({ length: operations }, (_, index) => index).filter(
  (at) => at === 0 || leftBefore(at) !== leftBefore(at - 1),
)

test('a first start makes its files in many steps', () => {
  expect(operations).toBeGreaterThan(50)
  expect(places.length).toBeGreaterThan(30)
})

test('a killed start leaves the same files as a copy of the folder at that moment', () => {
  using folder = temporaryFolder()
  const last = operations - 1
  expect(start(folder.path, last)).toBeUndefined()
  expect(readdirSync(folder.path).toSorted()).toEqual(readdirSync(join(copies.path, String(last))).toSorted())
})

test.each(places)(
  'a first start that is killed before operation %d leaves a folder that starts',
  async (at) => {
    using folder = copyOf(join(copies.path, String(at)))
    // The start after it is killed too.
    if (places.indexOf(at) % 5 === 0) start(folder.path, Math.floor(at / 2))
    const data = openedData(folder.path)
    expect(data.warnings).toEqual([])
    await rulesOf(data).change({ kind: 'everybody' }, () => ({ text: '{}', result: undefined }))
    await data.close()
    const again = openedData(folder.path)
    expect(await rulesOf(again).read({ kind: 'everybody' })).toBe('{}')
    await again.close()
    expect(readdirSync(folder.path).filter((name) => name.endsWith('.new'))).toEqual([])
    expect(readFileSync(join(folder.path, 'databases'), 'utf8').match(/ closed/g)).toHaveLength(3)
  },
)
