import { afterEach, expect, jest, test } from '@jest/globals'
import type { CheckOutcome } from '../../../../functions/src/features/folder/check-file.ts'
import { CHECKS_AT_ONCE, ModuleChecks } from '../../../../functions/src/features/folder/module-checks.ts'
import { textIn } from '../../../support/reading-runner.ts'
import type { Unchecked } from '../../../../functions/src/features/folder/module-checks.ts'

const FAULTS: CheckOutcome = { faults: [{ reason: 'MODULE_BROKEN' }] }

function content(text: string, changedMs = 0): Unchecked {
  return { source: Buffer.from(text), sha256: text, changedMs }
}

/** Checks that end when they are told to, and what has been told of them. */
class Scripted {
  readonly begun: string[] = []
  readonly ended: string[] = []
  atOnceMax = 0
  readonly checks: ModuleChecks
  readonly #under = new Map<string, (outcome: CheckOutcome) => void>()

  constructor() {
    this.checks = new ModuleChecks({
      check: (file, content) => {
        const check = `${file} ${textIn(content)}`
        this.begun.push(check)
        return new Promise((resolve) => {
          this.#under.set(check, resolve)
          this.atOnceMax = Math.max(this.atOnceMax, this.#under.size)
        })
      },
      ended: (file, { sha256 }) => this.ended.push(`${file} ${sha256}`),
    })
  }

  async end(check: string, outcome: CheckOutcome = FAULTS): Promise<void> {
    const resolve = this.#under.get(check)
    if (!resolve) throw new Error(`${check} is not under way`)
    this.#under.delete(check)
    resolve(outcome)
    await new Promise(setImmediate)
  }
}

test('of one file one content is checked at a time, and of all that came meanwhile only the last', async () => {
  const scripted = new Scripted()
  for (const text of ['1', '2', '3', '4']) scripted.checks.want('a.py', content(text))
  expect(scripted.begun).toEqual(['a.py 1'])
  await scripted.end('a.py 1')
  expect(scripted.ended).toEqual([])
  expect(scripted.begun).toEqual(['a.py 1', 'a.py 4'])
  await scripted.end('a.py 4')
  expect(scripted.ended).toEqual(['a.py 4'])
  expect(scripted.checks.pending).toEqual([])
})

test('few files are checked at a time, those that were changed last before the others', async () => {
  const scripted = new Scripted()
  for (let number = 0; number < 20; number += 1) scripted.checks.want(`${number}.py`, content('x', number))
  expect(scripted.begun).toEqual(['0.py x', '1.py x', '2.py x', '3.py x'])
  await scripted.end('0.py x')
  await scripted.end('1.py x')
  expect(scripted.begun.slice(4)).toEqual(['19.py x', '18.py x'])
  expect(scripted.checks.pending).toHaveLength(18)
  for (let left = 18; left > 0; left -= 1)
    await scripted.end(scripted.begun.find((check) => !scripted.ended.includes(check)) ?? '')
  expect(scripted.ended).toHaveLength(20)
  expect(scripted.atOnceMax).toBe(CHECKS_AT_ONCE)
})

test('a file that has gone while it was checked is not told of', async () => {
  const scripted = new Scripted()
  scripted.checks.want('a.py', content('1'))
  scripted.checks.forget('a.py')
  await scripted.end('a.py 1')
  expect(scripted.ended).toEqual([])
  await scripted.checks.settled(60_000)
})

afterEach(() => void jest.useRealTimers())

test('while the runner refuses, everything waits with its reason, and is checked when it takes modules again', async () => {
  // On a busy machine, the pause would be over before the test hurries.
  jest.useFakeTimers({ doNotFake: ['setImmediate'] })
  const scripted = new Scripted()
  scripted.checks.want('a.py', content('1'))
  scripted.checks.want('b.py', content('1'))
  await scripted.end('a.py 1', { refusal: 'It is away.', isLasting: false })
  await scripted.end('b.py 1', { refusal: 'It is away.', isLasting: false })
  expect(scripted.checks.pending).toEqual([
    { file: 'a.py', reason: 'It is away.' },
    { file: 'b.py', reason: 'It is away.' },
  ])
  scripted.checks.want('c.py', content('1'))
  expect(scripted.begun).toEqual(['a.py 1', 'b.py 1'])
  scripted.checks.hurry()
  // What it was not lost with comes first.
  expect(scripted.begun.slice(2)).toEqual(['c.py 1', 'a.py 1', 'b.py 1'])
  for (const file of ['c.py 1', 'a.py 1', 'b.py 1']) await scripted.end(file)
  expect(scripted.checks.pending).toEqual([])
})

test('a file that cannot be checked now waits alone, and is checked again after its time', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] })
  const scripted = new Scripted()
  const later = { refusal: 'The index is away.', isLasting: false, againMs: 30_000 } as const
  scripted.checks.want('a.py', content('1'))
  await scripted.end('a.py 1', later)
  await scripted.checks.settled(60_000)
  expect(scripted.checks.pending).toEqual([{ file: 'a.py', reason: 'The index is away.' }])
  scripted.checks.want('b.py', content('1'))
  expect(scripted.begun).toEqual(['a.py 1', 'b.py 1'])
  await scripted.end('b.py 1')
  jest.advanceTimersByTime(29_999)
  expect(scripted.begun).toHaveLength(2)
  jest.advanceTimersByTime(1)
  expect(scripted.begun).toEqual(['a.py 1', 'b.py 1', 'a.py 1'])
  await scripted.end('a.py 1', later)
  scripted.checks.want('a.py', content('2'))
  expect(scripted.begun.slice(3)).toEqual(['a.py 2'])
  await scripted.end('a.py 2', later)
  scripted.checks.hurry()
  expect(scripted.begun.slice(4)).toEqual(['a.py 2'])
  await scripted.end('a.py 2', later)
  scripted.checks.forget('a.py')
  expect([scripted.checks.pending, jest.getTimerCount()]).toEqual([[], 0])
})

test('nobody needs to hurry it: a refused file is checked again by itself', async () => {
  let refusals = 3
  const ended = Promise.withResolvers<string>()
  const checks = new ModuleChecks({
    check: () => Promise.resolve((refusals -= 1) >= 0 ? { refusal: 'Not yet.', isLasting: false } : FAULTS),
    ended: (file) => ended.resolve(file),
  })
  checks.want('a.py', content('1'))
  const waits = checks.settled(60_000)
  const keepAlive = setInterval(() => undefined, 1_000)
  expect(await ended.promise).toBe('a.py')
  await waits
  clearInterval(keepAlive)
})

test('who waits for the end does not wait for a runner that will never come, nor longer than allowed', async () => {
  const scripted = new Scripted()
  scripted.checks.want('a.py', content('1'))
  await scripted.end('a.py 1', { refusal: 'There is none.', isLasting: true })
  await scripted.checks.settled(60_000)
  scripted.checks.hurry()
  const keepAlive = setInterval(() => undefined, 1_000)
  await scripted.checks.settled(20)
  clearInterval(keepAlive)
  expect(scripted.checks.pending).toEqual([{ file: 'a.py', reason: 'There is none.' }])
  scripted.checks.close()
})
