import { expect, test } from '@jest/globals'
import { chmodSync, closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { statSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { EXIT } from '../../functions/src/hosts/local/start-error.ts'
import { copyOf } from '../support/opened-data.ts'
import { failedStart, Server } from '../support/server.ts'
import type { Ended } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testWhere } from '../support/test-where.ts'
import { post, tool } from '../support/tool.ts'
import { UNPRIVILEGED } from '../support/unprivileged.ts'

/** One sentence for a person, the documented exit code, and nothing else. */
function expectOneSentence(ended: Ended, code: number, sentence: RegExp): void {
  expect(ended).toMatchObject({ code, signal: null, stdout: '' })
  expect(ended.stderr).toMatch(/^[^\n]+\.\n$/)
  expect(ended.stderr).toMatch(sentence)
  expect(ended.stderr).not.toMatch(/\bat .*:\d+|\bError:|node:internal/)
}

test('a busy port is told with what to do', async () => {
  await using server = await Server.start()
  using data = temporaryFolder()
  const { port } = new URL(server.url)
  const ended = await failedStart({ data: data.path, env: { PORT: port } })
  expectOneSentence(
    ended,
    EXIT.addressTaken,
    /^Port \d+ on 127\.0\.0\.1 is in use by another program; .*PORT/,
  )
  expect((await server.fetch('/health')).status).toBe(200)
})

test('an address that is not of this machine is told', async () => {
  using data = temporaryFolder()
  const ended = await failedStart({ data: data.path, env: { HOST: '203.0.113.1' } })
  expectOneSentence(ended, EXIT.addressTaken, /cannot be used .*HOST and PORT/)
})

test('a second server on the same data is told, and does not disturb the first', async () => {
  await using server = await Server.start()
  const ended = await failedStart({ data: server.data })
  expectOneSentence(ended, EXIT.dataInUse, /^Another Toolrack server uses the data in .*TOOLRACK_DATA/)
  expect((await post(server, [tool('still_writes')])).status).toBe(200)
})

test('a data folder below a regular file is told', async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'file'), '')
  const ended = await failedStart({ data: join(folder.path, 'file', 'data') })
  expectOneSentence(ended, EXIT.unwritableData, /^The data folder .* cannot be written \(ENOTDIR\)/)
})

const asOwner = testWhere(
  UNPRIVILEGED !== undefined,
  'setpriv is missing: as root the suites for unwritable folders and unreadable files can not run.',
)
asOwner('a data folder that may not be written is told', async () => {
  using folder = temporaryFolder()
  const data = join(folder.path, 'data')
  mkdirSync(data)
  for (const mode of [0o500, 0o000]) {
    chmodSync(data, mode)
    const ended = await failedStart({ data, through: UNPRIVILEGED ?? [] })
    expectOneSentence(
      ended,
      EXIT.unwritableData,
      /^The data folder .* cannot be written \(EACCES\); .*TOOLRACK_DATA/,
    )
  }
  const below = await failedStart({ data: join(data, 'below'), through: UNPRIVILEGED ?? [] })
  expectOneSentence(below, EXIT.unwritableData, /cannot be written \(EACCES\)/)
  chmodSync(data, 0o700)
})

const FILES = ['token', 'toolrack.db', 'in-use'] as const

asOwner('a token or a database that may not be read is told', async () => {
  const starts = FILES.map(async (name) => {
    using folder = temporaryFolder()
    writeFileSync(join(folder.path, name), '')
    chmodSync(join(folder.path, name), 0)
    const ended = await failedStart({ data: folder.path, through: UNPRIVILEGED ?? [] })
    const code = name === 'in-use' ? EXIT.damagedData : EXIT.unwritableData
    expectOneSentence(ended, code, new RegExp(`${name} cannot be (?:used|opened) \\(`))
  })
  await Promise.all(starts)
})

test('a folder where a file of the data belongs is told', async () => {
  const starts = FILES.map(async (name) => {
    using folder = temporaryFolder()
    mkdirSync(join(folder.path, name))
    const ended = await failedStart({ data: folder.path })
    const code = name === 'token' ? EXIT.unwritableData : EXIT.damagedData
    expectOneSentence(ended, code, new RegExp(join(folder.path, name)))
  })
  await Promise.all(starts)
})

/** A data folder whose database of definitions has pages of every kind in it. */
async function filledFolder(): Promise<ReturnType<typeof copyOf>> {
  await using server = await Server.start()
  const definitions = Array.from({ length: 200 }, (_, index) => tool(`filled_${index}`, 'x'.repeat(2_000)))
  expect((await post(server, definitions)).status).toBe(200)
  await server.stop()
  return copyOf(server.data)
}

const PAGE = 4_096
const DAMAGE: readonly [string, (path: string) => void][] = [
  ['garbage', (path) => writeFileSync(path, Buffer.alloc(3 * PAGE, 'no database '))],
  ['a text file', (path) => writeFileSync(path, 'hello')],
  ['half of it', (path) => truncateSync(path, Math.floor(statSync(path).size / 2 / PAGE) * PAGE)],
  ['a part of a page', (path) => truncateSync(path, 10 * PAGE + 100)],
  ['its first page', (path) => truncateSync(path, PAGE)],
  ['the first bytes of its header', (path) => truncateSync(path, 50)],
  ['a part of its first page', (path) => truncateSync(path, 600)],
  ['a page overwritten', (path) => overwritePage(path, 5)],
  ['its last page overwritten', (path) => overwritePage(path, statSync(path).size / PAGE - 1)],
  ['its first page overwritten', (path) => overwritePage(path, 0)],
]
function overwritePage(path: string, page: number): void {
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(PAGE, 0xa5), 0, PAGE, page * PAGE)
  closeSync(file)
}

test('a damaged database is told with what to do, and is left as it is', async () => {
  using sound = await filledFolder()
  expect(statSync(join(sound.path, 'toolrack.db')).size).toBeGreaterThan(100 * PAGE)
  const starts = DAMAGE.map(async ([what, damage]) => {
    using data = copyOf(sound.path)
    const path = join(data.path, 'toolrack.db')
    damage(path)
    const damaged = readFileSync(path)
    const ended = await failedStart({ data: data.path })
    expect([what, ended.code]).toEqual([what, EXIT.damagedData])
    expectOneSentence(
      ended,
      EXIT.damagedData,
      /toolrack\.db is damaged.* It held the definitions and modules of users.*Then put a copy of it back/,
    )
    expect(readFileSync(path).equals(damaged)).toBe(true)
  })
  await Promise.all(starts)
})

test('a database of a newer version is told and not touched', async () => {
  using data = temporaryFolder()
  const path = join(data.path, 'toolrack.db')
  const database = new DatabaseSync(path)
  database.exec('PRAGMA user_version = 99')
  database.close()
  const ended = await failedStart({ data: data.path })
  expectOneSentence(ended, EXIT.damagedData, /written by a newer version of Toolrack/)
})

test('a variable with a value that can not be used is told by its name, and the value is not repeated', async () => {
  const bad: readonly [Record<string, string>, RegExp][] = [
    [{ PORT: 'secret_value' }, /PORT must be a number/],
    [{ PORT: '70000' }, /PORT/],
    [{ TOOLRACK_CORS_ORIGINS: 'secret_value' }, /TOOLRACK_CORS_ORIGINS must be origins/],
    [
      {
        TOOLRACK_APPROVALS_WEBHOOK: 'http://secret_value',
        TOOLRACK_APPROVALS_WEBHOOK_SECRET: 'x'.repeat(16),
      },
      /TOOLRACK_APPROVALS_WEBHOOK must be an https/,
    ],
    [
      { TOOLRACK_APPROVALS_WEBHOOK: 'https://a.example/secret_value' },
      /TOOLRACK_APPROVALS_WEBHOOK_SECRET must be set/,
    ],
    [{ TOOLRACK_DEFS_DIR: '/nowhere/at/all' }, /TOOLRACK_DEFS_DIR: .* is not a folder/],
    [{ TOOLRACK_DEFS_DIR: '/dev/null' }, /TOOLRACK_DEFS_DIR: .* is not a folder/],
  ]
  const starts = bad.map(async ([env, sentence]) => {
    using data = temporaryFolder()
    const ended = await failedStart({ data: data.path, env })
    expectOneSentence(ended, EXIT.badConfig, sentence)
    expect(ended.stderr).not.toContain('secret_value')
    expect(readdirSync(data.path)).toEqual([])
  })
  await Promise.all(starts)
})

test('an empty variable counts as not set, and one that is not known is named in the log', async () => {
  await using server = await Server.start({ env: { LIST_ENVELOPE: '', TOOLRACK_DATE: 'x' } })
  expect(server.log).toBe(
    'warn  environment variable is not known and has no effect  {"name":"TOOLRACK_DATE","similar":"TOOLRACK_DATA"}\n',
  )
})

test('rules, definitions and records whose file is empty, removed or another one stop the start; with the cure it starts', async () => {
  await using server = await Server.start()
  const rules = { rules: [{ effect: 'deny', tool: 'ECHO' }] }
  const written = await server.fetch('/workflows/rules/user/local', {
    method: 'PUT',
    headers: server.approver,
    body: JSON.stringify(rules),
  })
  expect(written.status).toBe(201)
  await server.kill9()
  const NAMES = ['toolrack.db', 'governance.sqlite', 'audit.sqlite'] as const
  const starts = NAMES.flatMap((name) =>
    [(path: string) => truncateSync(path), (path: string) => rmSync(path)].map(async (damage) => {
      using folder = copyOf(server.data)
      damage(join(folder.path, name))
      const ended = await failedStart({ data: folder.path })
      expectOneSentence(
        ended,
        EXIT.damagedData,
        new RegExp(`${name} is (?:empty|missing)\\. It held the .* put a copy`),
      )
      for (const end of ['', '-wal', '-shm']) rmSync(join(folder.path, name + end), { force: true })
      const list = join(folder.path, 'databases')
      writeFileSync(list, readFileSync(list, 'utf8').replace(new RegExp(`^${name}.*\n`, 'm'), ''))
      await using again = await Server.start({ data: folder.path })
      const names = ((await (await again.fetch('/workflows/tools/list')).json()) as Listed).map(nameOf)
      expect(names.includes('ECHO')).toBe(name === 'governance.sqlite')
    }),
  )
  await Promise.all(starts)
})

type Listed = readonly { readonly function: { readonly name: string } }[]
const nameOf = (item: Listed[number]): string => item.function.name

test('a claim file that holds something is told with its own cure', async () => {
  const starts = ['1234\n', 'x'.repeat(5_000), '\0'.repeat(600)].map(async (content) => {
    using folder = temporaryFolder()
    await using server = await Server.start({ data: folder.path })
    const path = join(folder.path, 'in-use')
    writeFileSync(path, content)
    // The lock of a running server counts more than the content.
    expect((await failedStart({ data: folder.path })).code).toBe(EXIT.dataInUse)
    await server.kill9()
    const ended = await failedStart({ data: folder.path })
    expectOneSentence(
      ended,
      EXIT.damagedData,
      /in-use cannot be used .* it holds no data, .*Remove it and start again, unless/,
    )
    rmSync(path)
    await server.restart()
  })
  await Promise.all(starts)
})

test('a file of rules that is empty, blank, cut off or a folder is told, and no server starts without its rules', async () => {
  const texts = ['', '\n', '{"rules":[{"effect":"deny",', '[]', '\0\0']
  const starts = texts.map(async (text) => {
    using folder = temporaryFolder()
    const path = join(folder.path, 'rules.json')
    writeFileSync(path, text)
    const ended = await failedStart({ data: join(folder.path, 'data'), env: { TOOLRACK_RULES_FILE: path } })
    expectOneSentence(ended, EXIT.badConfig, /TOOLRACK_RULES_FILE has a file whose rules are not valid/)
  })
  await Promise.all(starts)
  using folder = temporaryFolder()
  const ended = await failedStart({
    data: join(folder.path, 'data'),
    env: { TOOLRACK_RULES_FILE: folder.path },
  })
  expectOneSentence(ended, EXIT.badConfig, /TOOLRACK_RULES_FILE must be a file of rules/)
})
