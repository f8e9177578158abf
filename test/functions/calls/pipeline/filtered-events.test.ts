import { expect, test } from '@jest/globals'
import { setImmediate } from 'node:timers/promises'
import type { CallEvent } from '../../../../functions/src/calls/call.ts'
import { FilteredEvents } from '../../../../functions/src/calls/pipeline/filtered-events.ts'
import type { RunnerEvent } from '../../../../functions/src/catalog/definitions/runner.ts'
import { JsonText } from '../../../../functions/src/json/json-text.ts'
import { printedFilter } from '../../../../functions/src/redaction/known-secrets.ts'
import { NOT_SENSITIVE } from '../../../../functions/src/redaction/sensitive.ts'
import { StoredSecrets } from '../../../../functions/src/redaction/stored-secrets.ts'

const SECRET = 'the stored secret'
const [HEAD, TAIL] = [SECRET.slice(0, 9), SECRET.slice(9)]

const value = (given: unknown): RunnerEvent => ({ type: 'value', value: new JsonText(JSON.stringify(given)) })

/** What a caller hears of these events: the texts and values of each type. */
async function heard(events: readonly RunnerEvent[], stored?: StoredSecrets, isCut = false) {
  const told: Partial<Record<CallEvent['type'], unknown[]>> = {}
  const filtered = new FilteredEvents({
    emit(event) {
      const said =
        event.type === 'value'
          ? (JSON.parse(JSON.stringify(event.value)) as unknown)
          : 'text' in event && event.text
      ;(told[event.type] ??= []).push(said)
      return undefined
    },
    printed: () => printedFilter({}, NOT_SENSITIVE),
    stored,
  })
  await Promise.all(events.map(async (event) => filtered.hear(event)))
  await filtered.end({ isLogCut: isCut, isValueCut: isCut })
  return told
}

const EVENTS: readonly RunnerEvent[] = [
  { type: 'log', text: `said ${HEAD}` },
  { type: 'log', text: `${TAIL} and more\nand ${HEAD}` },
  { type: 'progress', fraction: 0.1, text: `at ${HEAD}` },
  { type: 'progress', fraction: 0.2, text: `${TAIL} now` },
  value(`so ${HEAD}`),
  value(`${TAIL} it is`),
  value({ a: [SECRET] }),
  value(HEAD),
  value(''),
  value(`end ${HEAD}`),
]

test('no event has a stored secret, and two events together have none', async () => {
  expect(await heard(EVENTS, new StoredSecrets([SECRET]))).toEqual({
    log: ['said [redacted] and more\n', `and ${HEAD}`],
    progress: ['at [redacted]', '[redacted] now'],
    // What may be the beginning of a secret comes with the next text, or at the end.
    value: ['so ', '[redacted] it is', { a: ['[redacted]'] }, '', `${HEAD}end `, HEAD],
  })
})

test('a secret whose halves are before and after other values is not shown', async () => {
  const events = [
    value(`so ${HEAD}`),
    value(5),
    value({ a: 'b' }),
    value(`${TAIL}, and so`),
    value(5),
    value('on'),
  ]
  const { value: values } = await heard(events, new StoredSecrets([SECRET]))
  expect(values).toEqual(['so ', '[redacted]', 5, { a: 'b' }, '[redacted], and so', 5, 'on'])
})

test('without stored secrets, every event is as it is', async () => {
  const { value: values, progress } = await heard(EVENTS)
  expect(values).toEqual([`so ${HEAD}`, `${TAIL} it is`, { a: [SECRET] }, HEAD, '', `end ${HEAD}`])
  expect(progress).toEqual([`at ${HEAD}`, `${TAIL} now`])
})

test('of texts that are cut off, what may be the beginning of a secret is not shown', async () => {
  const events = EVENTS.filter(({ type }) => type !== 'progress')
  const { log, value: values } = await heard(events, new StoredSecrets([SECRET]), true)
  expect(log?.at(-1)).toBe('and [redacted]')
  expect(values?.at(-1)).toBe('[redacted]')
})

test('events of a tool with secrets keep their order, and a caller that is slow is waited for', async () => {
  const given = Array.from({ length: 9 }, (_, at) =>
    at % 3 === 1 ? `text ${at}.` : { at, more: 'x'.repeat(90) },
  )
  const told: unknown[] = []
  const waiting: (() => void)[] = []
  const filtered = new FilteredEvents({
    emit(event) {
      if (event.type === 'value') told.push(JSON.parse(JSON.stringify(event.value)))
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.push(resolve)
      return promise
    },
    printed: () => printedFilter({}, NOT_SENSITIVE),
    stored: new StoredSecrets([SECRET]),
  })
  let count = 0
  const all = Promise.all(
    given.map(async (one) => {
      await filtered.hear(value(one))
      count += 1
    }),
  )
  for (let at = 0; at < given.length; at += 1) {
    while (waiting.length <= at) await setImmediate()
    // No event is sent before the caller has taken the one before.
    expect([count, waiting.length]).toEqual([at, at + 1])
    waiting[at]?.()
  }
  await all
  expect(told).toEqual(given)
})
