import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { closeSync, copyFileSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { renameSync, rmSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { StartError } from '../../../../functions/src/hosts/local/start-error.ts'
import { event } from '../../../support/audit.contract.ts'
import { by, put, tool } from '../../../support/definition-changes.ts'
import { copyOf, openedData, rulesOf } from '../../../support/opened-data.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const NAMES = ['toolrack.db', 'governance.sqlite', 'audit.sqlite'] as const
type Name = (typeof NAMES)[number]
const RULES = { kind: 'everybody' } as const

const made = temporaryFolder()
const folders = { closed: made, killed: made }
/** A data folder whose database of definitions has pages of every kind in it. */
const filled = temporaryFolder()
beforeAll(async () => {
  const data = openedData(made.path)
  await rulesOf(data).change(RULES, () => ({ text: '{"deny":"it"}', result: undefined }))
  await data.audit?.record(() => event('ann'))
  folders.killed = copyOf(made.path)
  await data.close()
  const full = openedData(filled.path)
  const changes = Array.from({ length: 200 }, (_, index) => put(tool(`filled_${index}`, 'x'.repeat(2_000))))
  await full.store(undefined as never).write({ kind: 'user', uid: 'local' }, changes, by('local'))
  await full.close()
})
afterAll(() => [...Object.values(folders), filled].forEach((folder) => folder[Symbol.dispose]()))

function faultOf(folder: string, env?: Record<string, string>): StartError {
  try {
    openedData(folder, env)
  } catch (error) {
    if (error instanceof StartError) return error
    throw error
  }
  throw new Error('the start was silent')
}

/** What is in the file must not change when a start is refused. */
function contentOf(path: string): unknown {
  const found = statSync(path, { throwIfNoEntry: false })
  return found?.isFile() ? readFileSync(path) : found?.isDirectory()
}

const sqlIn = (path: string, sql: string): void => {
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
}

const DAMAGE: readonly [string, (path: string, folder: string) => void, RegExp][] = [
  ['of zero length', (path) => truncateSync(path, 0), /is empty\./],
  ['with the first bytes of its header', (path) => truncateSync(path, 50), /its end is missing/],
  ['with its header only', (path) => truncateSync(path, 100), /its end is missing/],
  ['with a part of its first page', (path) => truncateSync(path, 600), /is damaged/],
  ['with its first page only', (path) => truncateSync(path, 4_096), /is damaged/],
  ['without its last byte', (path) => truncateSync(path, statSync(path).size - 1), /is damaged/],
  [
    'of text',
    (path) => writeFileSync(path, 'no database '.repeat(1_000)),
    /is damaged, or is not a database/,
  ],
  ['of zeros', (path) => writeFileSync(path, Buffer.alloc(8_192)), /is damaged, or is not a database/],
  ['that is removed', (path) => rmSync(path), /is missing\./],
  ['that is a folder', (path) => (rmSync(path), mkdirSync(path)), /is a folder, or/],
  [
    'that is an empty database',
    (path) => (rmSync(path), sqlIn(path, 'VACUUM')),
    /is empty|without the tables/,
  ],
  [
    'that is a database of another program',
    (path) => (rmSync(path), sqlIn(path, 'CREATE TABLE theirs (x); PRAGMA application_id = 7')),
    /of another program/,
  ],
  [
    'that is another database without marks',
    (path) => (rmSync(path), sqlIn(path, 'CREATE TABLE theirs (x)')),
    /without the tables of Toolrack/,
  ],
  [
    'that only says that it is ours',
    (path) => {
      const version = versionOf(path)
      const id = readFileSync(path).readUInt32BE(68)
      rmSync(path)
      sqlIn(path, `CREATE TABLE x (x); PRAGMA application_id = ${id}; PRAGMA user_version = ${version}`)
    },
    /without the (?:table|index|trigger) /,
  ],
  [
    'that is another file of the folder',
    (path, folder) => copyFileSync(join(folder, NAMES.find((name) => !path.endsWith(name)) ?? ''), path),
    /or another file of this service/,
  ],
]

function versionOf(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true })
  const row = database.prepare('PRAGMA user_version').get()
  database.close()
  return Number(row?.['user_version'])
}

const cases = NAMES.flatMap((name) =>
  DAMAGE.map(([what, damage, fault]) => [name, what, damage, fault] as const),
)

test.each(cases)('a %s %s stops the start, which says what was lost', (name, _what, damage, fault) => {
  using folder = copyOf(folders.closed.path)
  const path = join(folder.path, name)
  damage(path, folder.path)
  const before = contentOf(path)
  const error = faultOf(folder.path)
  expect(error.message).toMatch(fault)
  expect(error.message.startsWith(path)).toBe(true)
  expect(error.message).not.toContain('\n')
  expect(error.message).toMatch(/It held the .+ Put a copy|It held the .+ Then put a copy/)
  expect(error.exitCode).toBe(65)
  expect(contentOf(path)).toEqual(before)
  // A second start says the same.
  expect(faultOf(folder.path).message).toBe(error.message)
})

const PAGE = 4_096

function overwritePage(path: string, page: number): void {
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(PAGE, 0xa5), 0, PAGE, page * PAGE)
  closeSync(file)
}

const DAMAGE_OF_FILLED: readonly [string, (path: string, pages: number) => void][] = [
  ['with half of it', (path, pages) => truncateSync(path, Math.floor(pages / 2) * PAGE)],
  ['with a part of a page', (path) => truncateSync(path, 10 * PAGE + 100)],
  ['with a page overwritten', (path) => overwritePage(path, 5)],
  ['with its last page overwritten', (path, pages) => overwritePage(path, pages - 1)],
  ['with its first page overwritten', (path) => overwritePage(path, 0)],
]

test.each(DAMAGE_OF_FILLED)(
  'a toolrack.db with many definitions and %s stops the start, and is left as it is',
  (_what, damage) => {
    using folder = copyOf(filled.path)
    const path = join(folder.path, 'toolrack.db')
    const pages = statSync(path).size / PAGE
    expect(pages).toBeGreaterThan(100)
    damage(path, pages)
    const before = readFileSync(path)
    const { message, exitCode } = faultOf(folder.path)
    expect(message).toMatch(
      /toolrack\.db is damaged.* It held the definitions and modules of users[^\n]*Then put a copy of it back[^\n]*\.$/,
    )
    expect(exitCode).toBe(65)
    expect(readFileSync(path).equals(before)).toBe(true)
  },
)

test('a token file whose place a folder has is told', () => {
  using folder = temporaryFolder()
  mkdirSync(join(folder.path, 'token'))
  const { message, exitCode } = faultOf(folder.path)
  expect([message, exitCode]).toEqual([expect.stringContaining(join(folder.path, 'token')), 73])
  expect(message).toMatch(/^[^\n]+\.$/)
})

test.each(['toolrack.db', 'governance.sqlite'] as const)(
  'a %s of a newer version stops the start, and is not touched',
  (name) => {
    using folder = copyOf(folders.closed.path)
    const path = join(folder.path, name)
    sqlIn(path, 'PRAGMA user_version = 99')
    const before = contentOf(path)
    const { message, exitCode } = faultOf(folder.path)
    expect([message, exitCode]).toEqual([expect.stringMatching(/written by a newer version of Toolrack/), 65])
    expect(contentOf(path)).toEqual(before)
  },
)

test.each(['toolrack.db', 'governance.sqlite'] as const)(
  'a %s of an earlier version stops the start, which names the folder to move away',
  (name) => {
    using folder = copyOf(folders.closed.path)
    const path = join(folder.path, name)
    sqlIn(path, 'PRAGMA user_version = 3')
    const before = contentOf(path)
    const error = faultOf(folder.path)
    expect(error.message).toBe(
      `${path} was written by an earlier version of Toolrack, which kept it in other tables. Move the folder ${folder.path} away, and start again: the server then makes a new one. Or start the earlier version.`,
    )
    expect(error.exitCode).toBe(65)
    expect(contentOf(path)).toEqual(before)
  },
)

/** What the sentence says: the file and those beside it go away, and their line goes out of the list. */
function follow(folder: string, name: Name): void {
  for (const end of ['', '-wal', '-shm']) rmSync(join(folder, name + end), { recursive: true, force: true })
  removeLine(folder, name)
}
function removeLine(folder: string, name: Name): void {
  const list = join(folder, 'databases')
  const lines = readFileSync(list, 'utf8').split('\n')
  writeFileSync(list, lines.filter((line) => !line.startsWith(name)).join('\n'))
}

const REPAIRED = new Set(['of zero length', 'without its last byte', 'that is removed'])
const repaired = cases.filter(([, what]) => REPAIRED.has(what))

test.each(repaired)('after a %s %s, what the sentence says helps', async (name, _what, damage) => {
  for (const from of ['closed', 'killed'] as const) {
    using folder = copyOf(folders[from].path)
    damage(join(folder.path, name), folder.path)
    faultOf(folder.path)
    follow(folder.path, name)
    const data = openedData(folder.path)
    expect(await rulesOf(data).read(RULES)).toBe(name === 'governance.sqlite' ? undefined : '{"deny":"it"}')
    await data.close()
    await openedData(folder.path).close()

    using restored = copyOf(folders[from].path)
    damage(join(restored.path, name), restored.path)
    follow(restored.path, name)
    copyFileSync(join(folders.closed.path, name), join(restored.path, name))
    const again = openedData(restored.path)
    expect(await rulesOf(again).read(RULES)).toBe('{"deny":"it"}')
    await again.close()
  }
})

test.each(NAMES)(
  'the log of %s that a killed server has left is missed if it is removed, emptied or garbled',
  (name) => {
    const log = `${name}-wal`
    const removals: readonly ((path: string) => void)[] = [
      (path) => rmSync(path),
      (path) => truncateSync(path, 0),
      (path) => truncateSync(path, 20),
      (path) => writeFileSync(path, 'x'.repeat(5_000)),
    ]
    for (const remove of removals) {
      using folder = copyOf(folders.killed.path)
      remove(join(folder.path, log))
      expect(faultOf(folder.path).message).toMatch(
        new RegExp(`${log}, the write-ahead log, is missing\\. .*Put the log back`),
      )
      using without = copyOf(folder.path)
      rmSync(join(without.path, `${name}-shm`))
      expect(faultOf(without.path).message).toContain(log)
    }
  },
)

test('with the log, nothing is lost and nothing is said; without its line, the rest of the database is used', async () => {
  using folder = copyOf(folders.killed.path)
  using shortened = copyOf(folders.killed.path)
  const data = openedData(folder.path)
  expect(await rulesOf(data).read(RULES)).toBe('{"deny":"it"}')
  expect(data.warnings).toEqual([])
  await data.close()

  rmSync(join(shortened.path, 'governance.sqlite-wal'))
  removeLine(shortened.path, 'governance.sqlite')
  await openedData(shortened.path).close()
  await openedData(shortened.path).close()
})

test.each(NAMES)(
  'what SQLite has left of a removed %s stops the start, also without the line of the list',
  (name) => {
    for (const end of ['-wal', '-shm']) {
      using folder = copyOf(folders.killed.path)
      for (const one of ['', '-wal', '-shm'])
        if (one !== end) rmSync(join(folder.path, name + one), { force: true })
      expect(faultOf(folder.path).message).toContain(`${name} is missing.`)
      removeLine(folder.path, name)
      expect(faultOf(folder.path).message).toContain(`is missing, and ${name}${end} is still there`)
      expect(existsSync(join(folder.path, name))).toBe(false)
    }
  },
)

const list = (folder: { readonly path: string }): string => join(folder.path, 'databases')

test('a list that is empty, cut off or garbled stops the start; a removed one is made again if nothing is lost', async () => {
  using folder = copyOf(folders.killed.path)
  const whole = readFileSync(list(folder), 'utf8')
  for (const text of [
    '',
    '\n',
    whole.slice(20),
    whole.slice(0, 50),
    whole.slice(0, -9),
    'x'.repeat(90),
    `${whole}\0`,
  ]) {
    writeFileSync(list(folder), text)
    expect([text, faultOf(folder.path).message]).toEqual([
      text,
      expect.stringMatching(/databases cannot be used .*Put a copy of it back, or, if all databases/),
    ])
  }
  rmSync(list(folder))
  using without = copyOf(folder.path)
  const data = openedData(folder.path)
  expect(data.warnings).toEqual(['the list of databases was missing, and was made again'])
  await data.close()
  expect(readFileSync(list(folder), 'utf8').match(/ closed$/gm)).toHaveLength(3)

  rmSync(join(without.path, 'governance.sqlite-wal'))
  expect(faultOf(without.path).message).toContain('governance.sqlite-wal, the write-ahead log, is missing')
  for (const end of ['', '-shm']) rmSync(join(without.path, `governance.sqlite${end}`))
  expect(faultOf(without.path).message).toContain('governance.sqlite is missing.')
})

test('the list says what is open, keeps lines of other versions, and takes the spelling of an editor', async () => {
  using folder = temporaryFolder()
  const path = list(folder)
  const states = (): string[] =>
    [...readFileSync(path, 'utf8').matchAll(/^[\w.]+ +(\w+)/gm)].map(([line]) => line)
  const first = openedData(folder.path)
  expect(states()).toEqual(NAMES.map((name) => `${name} open`))
  await first.close()
  expect(states()).toEqual(NAMES.map((name) => `${name} closed`))
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, `${text.replaceAll(/ +$/gm, '').replaceAll('\n', '\r\n')}other.sqlite  closed`)
  const second = openedData(folder.path, { TOOLRACK_AUDIT: 'off' })
  expect(states()).toEqual([
    'toolrack.db open',
    'governance.sqlite open',
    'audit.sqlite closed',
    'other.sqlite closed',
  ])
  await second.close()
})

test('a database that this server does not use is not missed', async () => {
  using folder = copyOf(folders.closed.path)
  rmSync(join(folder.path, 'audit.sqlite'))
  await openedData(folder.path, { TOOLRACK_AUDIT: 'off' }).close()
  expect(faultOf(folder.path).message).toContain('audit.sqlite is missing.')
})

test('a folder of a version without lists and marks is taken over, and is missed from then on', async () => {
  using folder = copyOf(folders.closed.path)
  rmSync(join(folder.path, 'databases'))
  rmSync(join(folder.path, 'audit.sqlite'))
  for (const name of NAMES.slice(0, 2)) sqlIn(join(folder.path, name), 'PRAGMA application_id = 0')
  const data = openedData(folder.path)
  expect(data.warnings).toEqual([])
  expect(await rulesOf(data).read(RULES)).toBe('{"deny":"it"}')
  await data.close()
  renameSync(join(folder.path, 'governance.sqlite'), join(folder.path, 'away'))
  rmSync(join(folder.path, 'databases'))
  expect(faultOf(folder.path).message).toContain('governance.sqlite is missing.')
})

test('the files of keys and tokens that are empty or damaged stop the start and are left as they are', async () => {
  const files = ['token', 'approver-token', 'sealing-key', 'job-keys.json', 'audit-key.json']
  expect(readdirSync(folders.closed.path)).toEqual(expect.arrayContaining(files))
  for (const name of files)
    for (const [text, fault] of [
      ['', /is empty\./],
      ['\n', /is empty\./],
      ['{"x":', /does not hold /],
      ['\0\u0001', /does not hold /],
    ] as const) {
      using folder = copyOf(folders.closed.path)
      const path = join(folder.path, name)
      writeFileSync(path, text)
      const { message, exitCode } = faultOf(folder.path)
      expect([name, message, exitCode]).toEqual([name, expect.stringMatching(fault), 65])
      expect(message).toMatch(/Put a copy of it back, or remove it for a new one/)
      expect(readFileSync(path, 'utf8')).toBe(text)
      rmSync(path)
      await openedData(folder.path).close()
    }
})
