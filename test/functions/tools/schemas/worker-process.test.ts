import { expect, jest, test } from '@jest/globals'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { WAITING_MAX, WorkerProcess } from '../../../../functions/src/tools/schemas/worker-process.ts'
import type { WorkerOptions } from '../../../../functions/src/tools/schemas/worker-process.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const OBEDIENT = new URL('../../../support/schema-workers/obedient-worker.ts', import.meta.url)
const FOREVER = 2_000_000_000
const OUT_OF_MEMORY = { fault: 'within 96 MB of memory' }
const ADMITTED = { report: { faults: [], unenforced: [] } }
jest.setTimeout(60_000)

type Report = { readonly unenforced: readonly string[] }

/** A process of the obedient worker, and a folder for what it leaves behind. */
function working(options: Partial<WorkerOptions> = {}, firstStart = '') {
  const folder = temporaryFolder()
  const at = (name: string): string => join(folder.path, name)
  // A worker whose first start ends or hangs: what it has begun to do is seen in a file.
  const own = `
    import { appendFileSync, existsSync } from 'node:fs'
    const isFirst = !existsSync(${JSON.stringify(at('starts'))})
    appendFileSync(${JSON.stringify(at('starts'))}, '.')
    ${firstStart}
    await import(${JSON.stringify(OBEDIENT.href)})`
  if (firstStart !== '') writeFileSync(at('worker.mjs'), own)
  const url = firstStart === '' ? OBEDIENT : pathToFileURL(at('worker.mjs'))
  const worker = new WorkerProcess<string, Report>(url, { deadlineMs: FOREVER, ...options })
  return {
    worker,
    at,
    ask: (title: string, ...more: [Parameters<typeof worker.ask>[1]?]) =>
      worker.ask(JSON.stringify({ title }), ...more),
    count: (name: string) => readFileSync(at(name), 'utf8').length,
    async [Symbol.asyncDispose]() {
      // A test that has failed may have left a question that waits for this file.
      writeFileSync(at('go'), '')
      await worker.close()
      folder[Symbol.dispose]()
    },
  }
}

/** What became of the questions, once the process that they wait for is let go: one that is wrongly taken is answered then. */
function settledAfter(
  asked: readonly Promise<unknown>[],
  letGo: () => void,
): Promise<PromiseSettledResult<unknown>[]> {
  const settled = Promise.allSettled(asked)
  letGo()
  return settled
}

async function pidOf({ ask }: Pick<ReturnType<typeof working>, 'ask'>): Promise<number> {
  const answer = await ask('pid')
  return Number('report' in answer ? answer.report.unenforced[0] : answer.fault)
}

test('a question that meets a process that was just killed is answered by another process', async () => {
  await using it = working()
  const pid = await pidOf(it)
  process.kill(pid, 'SIGKILL')
  const other = await pidOf(it)
  expect(other).toBeGreaterThan(0)
  expect(other).not.toBe(pid)
})

test('a question whose process is killed at work is asked again and answered', async () => {
  await using it = working()
  expect(await it.ask(`die-once ${it.at('died')}`)).toEqual(ADMITTED)
  expect(existsSync(it.at('died'))).toBe(true)
})

test('a question whose process is killed twice is refused, and the next is answered', async () => {
  await using it = working()
  expect(await it.ask(`count-and-die ${it.at('asked')}`)).toEqual(OUT_OF_MEMORY)
  expect(it.count('asked')).toBe(2)
  expect(await it.ask('')).toEqual(ADMITTED)
})

test('a question that fills the heap is not asked again', async () => {
  await using it = working()
  expect(await it.ask(`count-and-fill ${it.at('asked')}`)).toEqual(OUT_OF_MEMORY)
  expect(it.count('asked')).toBe(1)
})

test('a question that is too late is not asked again', async () => {
  await using it = working({ deadlineMs: 2_000 })
  expect(await it.ask(`mark-and-hang ${it.at('asked')}`)).toEqual({ fault: 'within 2000 ms' })
})

test('a process that was killed while it started is started again', async () => {
  await using it = working({}, "if (isFirst) process.kill(process.pid, 'SIGKILL')")
  expect(await it.ask('')).toEqual(ADMITTED)
  expect(it.count('starts')).toBe(2)
})

test('a process that hangs while it starts is killed and started again', async () => {
  await using it = working({ startMs: 4_000 }, 'if (isFirst) for (;;);')
  expect(await it.ask('')).toEqual(ADMITTED)
  expect(it.count('starts')).toBe(2)
})

test('when no process can be started, all that wait are told to try again, and the log has the reason', async () => {
  const told: unknown[] = []
  const error = (...said: unknown[]): void => void told.push(said)
  const log = { info: error, warn: error, error }
  await using it = working({ log }, 'process.exit(7)')
  const asked = await Promise.allSettled([it.ask(''), it.ask(''), it.ask('', { waitsBehindAll: true })])
  const refused = {
    status: 'rejected',
    reason: expect.objectContaining({
      code: 'SERVICE_BUSY',
      message: 'The service could not start the process for its checks; nothing was done. Try again.',
    }),
  }
  expect(asked).toEqual([refused, refused, refused])
  expect(it.count('starts')).toBe(2)
  const reason = expect.stringMatching(/worker\.mjs could not be started \(exit code 7\)$/)
  expect(told).toEqual([['a process for checks could not be started', { reason }]])
})

test('only so many questions of callers wait, those of the service itself behind any number, and all are answered', async () => {
  await using it = working()
  const running = it.ask(`await ${it.at('go')}`)
  const waiting = Array.from({ length: WAITING_MAX }, () => it.ask(''))
  const own = Array.from({ length: WAITING_MAX }, () => it.ask('', { waitsBehindAll: true }))
  const [tooMany] = await settledAfter([it.ask('')], () => writeFileSync(it.at('go'), ''))
  expect(tooMany).toMatchObject({
    status: 'rejected',
    reason: {
      code: 'SERVICE_BUSY',
      message: 'The service has as many checks as it takes; nothing was done. Try again.',
    },
  })
  const all = [running, ...waiting, ...own]
  expect(await Promise.all(all)).toEqual(all.map(() => ADMITTED))
  expect(await it.ask('')).toEqual(ADMITTED)
})

test('a question whose caller goes while it waits is never asked, and makes room for another', async () => {
  await using it = working()
  const running = it.ask(`await ${it.at('go')}`)
  const caller = new AbortController()
  const left = it.ask(`count ${it.at('asked')}`, { signal: caller.signal })
  const others = Array.from({ length: WAITING_MAX - 1 }, () => it.ask(''))
  caller.abort()
  const late = it.ask(`count ${it.at('asked')}`, { signal: caller.signal })
  others.push(it.ask(''))
  const given = await settledAfter([left, late], () => writeFileSync(it.at('go'), ''))
  // No plain error: the pipeline would log that as a failure of the service.
  const refused = { status: 'rejected', reason: { code: 'SERVICE_BUSY' } }
  expect(given).toMatchObject([refused, refused])
  expect(await Promise.all([running, ...others])).toHaveLength(WAITING_MAX + 1)
  expect(existsSync(it.at('asked'))).toBe(false)
})

test('a question whose caller goes while it is answered is answered, and the process is kept', async () => {
  await using it = working()
  const pid = await pidOf(it)
  const caller = new AbortController()
  const running = it.ask(`await ${it.at('go')}`, { signal: caller.signal })
  caller.abort()
  writeFileSync(it.at('go'), '')
  expect(await running).toEqual(ADMITTED)
  expect(await pidOf(it)).toBe(pid)
})
