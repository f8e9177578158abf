import { expect, test } from '@jest/globals'
import { execFileSync } from 'node:child_process'
import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { LOG_KEPT_MS, type InvocationLog } from '../../../../functions/src/calls/invocation-logs.ts'
import { NewestLines } from '../../../../functions/src/stores/sqlite/newest-lines.ts'
import { SqliteInvocationLogs } from '../../../../functions/src/stores/sqlite/sqlite-invocation-logs.ts'
import { endedCall } from '../../../support/ended-call.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

let times = 0
const call = (text?: string): InvocationLog =>
  endedCall({ at: new Date((times += 1)).toISOString(), ...(text !== undefined && { text }) })

function opened() {
  const folder = temporaryFolder()
  const path = join(folder.path, 'invocations.db')
  const clock = { nowMs: 1_700_000_000_000 }
  return {
    path,
    newest: `${path}-newest`,
    clock,
    /** Opens the logs as a start does. If earlier logs were not closed, their process counts as killed. */
    open: () => new SqliteInvocationLogs(path, { now: () => clock.nowMs }),
    rows() {
      using database = new DatabaseSync(path, { readOnly: true })
      return Number(database.prepare('SELECT count(*) AS count FROM logs').get()?.['count'])
    },
    isRow({ invocationId }: InvocationLog) {
      using database = new DatabaseSync(path, { readOnly: true })
      return database.prepare('SELECT 1 FROM logs WHERE id = ?').get(invocationId) !== undefined
    },
    /** How many transactions have changed the database, from the counter in its header. */
    changes: () => readFileSync(path).readUInt32BE(24),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

async function found(logs: SqliteInvocationLogs, calls: readonly InvocationLog[]) {
  return Promise.all(calls.map(({ invocationId }) => logs.find('ann', invocationId)))
}

test('calls are kept without a transaction, and a read finds them after one for all', async () => {
  using file = opened()
  const logs = file.open()
  const before = file.changes()
  const calls = Array.from({ length: 40 }, () => call('printed ü 🌧️\n'))
  for (const each of calls) await logs.keep('ann', each)
  expect([file.changes() - before, file.rows()]).toEqual([0, 0])
  expect(await found(logs, calls)).toEqual(calls)
  expect([file.changes() - before, file.rows()]).toEqual([1, 40])
  await logs.close()
})

test('what was kept when the process was killed is found by the next start, with its text and its end', async () => {
  using file = opened()
  const killed = file.open()
  const calls = [call(), call('a\n"b"\\\u0000\u2028'), call('x'.repeat(5_000))]
  for (const each of calls) await killed.keep('ann', each)
  await killed.keep('bob', call())
  expect(statSync(file.newest).mode & 0o777).toBe(0o600)
  file.clock.nowMs += LOG_KEPT_MS - 1
  const logs = file.open()
  expect(await found(logs, calls)).toEqual(calls)
  expect(await logs.page('bob', { limit: 9 })).toHaveLength(1)
  file.clock.nowMs += 1
  expect(await found(logs, calls)).toEqual([undefined, undefined, undefined])
  await logs.close()
  expect(statSync(file.newest).size).toBe(0)
})

test('a process that was killed after the transaction leaves no call twice', async () => {
  using file = opened()
  const killed = file.open()
  const calls = [call(), call()]
  for (const each of calls) await killed.keep('ann', each)
  const lines = readFileSync(file.newest)
  await killed.close()
  writeFileSync(file.newest, lines)
  const logs = file.open()
  calls.push(call())
  for (const each of calls.slice(2)) await logs.keep('ann', each)
  expect(await logs.page('ann', { limit: 9 })).toHaveLength(3)
  expect(await found(logs, calls)).toEqual(calls)
  await logs.close()
})

test('the lines of a batch before, which a shorter batch has not overwritten, are not read again', async () => {
  using file = opened()
  const killed = file.open()
  const old = [call(), call(), call()]
  for (const each of old) await killed.keep('ann', each)
  await killed.page('ann', { limit: 1 })
  await killed.keep('ann', call())
  // Without the database, only the lines of the newest batch are left.
  writeFileSync(`${file.path}-copy-newest`, readFileSync(file.newest))
  const copy = new SqliteInvocationLogs(`${file.path}-copy`, { now: () => file.clock.nowMs })
  expect(await copy.page('ann', { limit: 9 })).toHaveLength(1)
  await copy.close()
})

test('a line that was cut off, and a file of zeros, lose only what they had, and the next lines are whole', async () => {
  for (const rest of ['1 {"uid":"ann","until"', 'garbage\n1 []\n', '\0'.repeat(5_000)]) {
    using file = opened()
    const killed = file.open()
    const [first, second] = [call(), call()]
    await killed.keep('ann', first)
    appendFileSync(file.newest, rest)
    const next = file.open()
    await next.keep('ann', second)
    const logs = file.open()
    expect(await found(logs, [first, second])).toEqual([first, second])
    await logs.close()
  }
})

test('a line that is refused is dropped with all after it, and the next line takes its place', () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'any')
  writeFileSync(`${path}-newest`, '4 {"a":1}\n4 {"bad":1}\n4 {"b":1}\n')
  const lines = new NewestLines(path, (text) => !text.includes('bad'))
  expect(lines.left).toEqual(['{"a":1}'])
  expect(lines.add('{"c":12345}')).toBe(true)
  lines.close()
  const again = new NewestLines(path)
  expect(again.left.slice(0, 2)).toEqual(['{"a":1}', '{"c":12345}'])
  again.close()
})

test('a left line that is not a whole call is dropped alone, and the history stays', async () => {
  using file = opened()
  const first = file.open()
  const old = call('printed')
  await first.keep('ann', old)
  await first.close()
  const killed = file.open()
  const left = [call(), call('x')]
  for (const each of left) await killed.keep('ann', each)
  const [one = '', two = ''] = readFileSync(file.newest, 'utf8').split('\n')
  const batch = one.slice(0, one.indexOf(' '))
  const damaged = ['{}', '{"facts":{"invocationId":null}}', '{"uid":"ann","until":9999999999999,"facts":{}}']
  const text = two.slice(batch.length + 1)
  for (const [right, wrong] of [
    ['"uid":"ann"', '"uid":null'],
    ['"until":', '"until":1.5,"other":'],
    ['"invocationId":"', '"invocationId":null,"other":"'],
    ['"durationMs":1.5', '"durationMs":null'],
    ['"outcome":"success"', '"outcome":"x"'],
    ['"code":null', '"code":{}'],
    ['"hasLog":true', '"hasLog":1'],
    ['"hasLog":true', '"hasLog":false'],
    ['"truncated":false', '"truncated":{}'],
    ['"text":"x"', '"text":null'],
    ['"decision":{', '"decision":7,"other":{'],
  ] as const) {
    expect(text).toContain(right)
    damaged.push(text.replace(right, wrong))
  }
  for (const each of damaged) {
    writeFileSync(file.newest, [one, `${batch} ${each}`, two, ''].join('\n'))
    const logs = file.open()
    const added = call()
    await logs.keep('ann', added)
    expect(await found(logs, [old, ...left, added])).toEqual([old, ...left, added])
    await logs.close()
  }
  const logs = file.open()
  expect(await logs.page('ann', { limit: 99 })).toHaveLength(3 + damaged.length)
  await logs.close()
  writeFileSync(file.newest, '1 {}\n')
  await file.open().close()
  expect(file.rows()).toBeGreaterThan(0)
})

/** Wipes a file of lines, and tells what is on the disk before it is cut off. No write takes more than a thousand bytes. */
const WIPE = `
  const fs = process.getBuiltinModule('node:fs')
  const { fsyncSync, ftruncateSync, writeSync } = fs
  const [, path, module] = process.argv
  const seen = []
  const bytes = () => fs.readFileSync(path + '-newest')
  fs.fsyncSync = (file) => { seen.push('fsync ' + bytes().every((byte) => byte === 0)); fsyncSync(file) }
  fs.ftruncateSync = (file) => { seen.push('cut ' + bytes().length); ftruncateSync(file) }
  let most = Infinity
  fs.writeSync = (file, from, at, length, place) => writeSync(file, from, at, Math.min(length, most), place)
  process.getBuiltinModule('node:module').syncBuiltinESMExports()
  const { NewestLines } = await import(module)
  const lines = new NewestLines(path)
  most = 1_000
  lines.wipe()
  most = Infinity
  for (let index = 0; index < 100; index += 1) lines.add(JSON.stringify({ text: 'x'.repeat(87) }))
  most = 1_000
  lines.wipe()
  console.log(JSON.stringify({ seen, left: bytes().length }))
`

test('what an earlier process has left, and what was added, is overwritten on the disk before it is cut off', () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'any')
  writeFileSync(`${path}-newest`, `1 {"text":"${'x'.repeat(4_987)}"}\n`)
  const module = new URL('../../../../functions/src/stores/sqlite/newest-lines.ts', import.meta.url).href
  const args = ['--input-type=module', '--eval', WIPE, path, module]
  const told = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as unknown
  expect(told).toEqual({ seen: ['fsync true', 'cut 5001', 'fsync true', 'cut 10100'], left: 0 })
})

test('the file stays small, however many calls are kept, and long prints go into the database at once', async () => {
  using file = opened()
  const logs = file.open()
  let largest = 0
  for (let index = 0; index < 400; index += 1) {
    await logs.keep('ann', call('x'.repeat((index * 7_919) % 64_000)))
    largest = Math.max(largest, statSync(file.newest).size)
  }
  expect(largest).toBeLessThan(160 * 1024)
  const [short, long] = [call('short'), call('x'.repeat(60_000))]
  await logs.keep('ann', short)
  expect(file.isRow(short)).toBe(false)
  await logs.keep('ann', long)
  expect([file.isRow(short), file.isRow(long)]).toEqual([true, true])
  await logs.close()
})

test('if the database cannot take calls, they wait, then the next ones are refused, and none that was kept is lost', async () => {
  using file = opened()
  const logs = file.open()
  const locked = new DatabaseSync(file.path)
  locked.exec('BEGIN EXCLUSIVE')
  const kept: InvocationLog[] = []
  let refused = 0
  for (let index = 0; index < 400; index += 1) {
    const each = call()
    await logs.keep('ann', each).then(
      () => kept.push(each),
      () => (refused += 1),
    )
  }
  expect(kept.length).toBeGreaterThan(100)
  expect(refused).toBeGreaterThan(100)
  locked.exec('ROLLBACK')
  locked.close()
  expect(await found(logs, kept)).toEqual(kept)
  await logs.close()
})
