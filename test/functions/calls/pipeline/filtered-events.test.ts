import { expect, test } from '@jest/globals'
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
async function heard(events: readonly RunnerEvent[], stored?: StoredSecrets) {
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
  for (const event of events) await filtered.hear(event)
  await filtered.end()
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

test('without stored secrets, every event is as it is', async () => {
  const { value: values, progress } = await heard(EVENTS)
  expect(values).toEqual([`so ${HEAD}`, `${TAIL} it is`, { a: [SECRET] }, HEAD, '', `end ${HEAD}`])
  expect(progress).toEqual([`at ${HEAD}`, `${TAIL} now`])
})
