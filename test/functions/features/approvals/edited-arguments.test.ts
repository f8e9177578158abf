import { expect, test } from '@jest/globals'
import type { JsonObject } from '@toolrack/contract'
import { argumentsToRun } from '../../../../functions/src/features/approvals/edited-arguments.ts'
import { redact } from '../../../../functions/src/redaction/redact.ts'
import { NOT_SENSITIVE, sensitivityOf } from '../../../../functions/src/redaction/sensitive.ts'
import { newSealing } from '../../../support/memory-governance.ts'

const SEALING = newSealing()
const SENT = {
  to: 'ann',
  password: 'hunter2',
  pin: 1234,
  url: 'https://me:pw@h.example/a',
  body: '{"api_key":"k1"}',
  list: [{ token: 't1' }, { token: 't2' }],
  ghp_0123456789abcdef: 'its value',
  said: '[redacted]',
} as const satisfies JsonObject
const SHOWN = redact(SENT) as JsonObject

const run = (edited: JsonObject, sealing: typeof SEALING | undefined = SEALING) =>
  argumentsToRun(edited, { sent: SENT }, NOT_SENSITIVE, sealing)

test('what was shown runs as it was sent, and what else was edited runs as it is', () => {
  expect(JSON.stringify(SHOWN)).not.toMatch(/hunter2|1234|pw@|k1|t1|ghp_/)
  expect(run(SHOWN)).toEqual(SENT)
  expect(run({ ...SHOWN, to: 'bob', list: [], more: { password: 'new one' } })).toEqual({
    ...SENT,
    to: 'bob',
    list: [],
    more: { password: 'new one' },
  })
})

test.each<[string, JsonObject]>([
  ['at a place that had no secret', { to: '[redacted]' }],
  ['at a new place', { more: ['[redacted]'] }],
  ['within an edited text', { url: 'https://[redacted]@evil.example/' }],
  ['within edited JSON', { body: '{"api_key":"[redacted]","b":1}' }],
  ['in a list of another length', { list: [{ token: '[redacted]' }] }],
  ['as another name', { 'a [redacted]': 1 }],
])('a marker %s is refused', (_what, edited) => {
  expect(() => run(edited)).toThrow(expect.objectContaining({ code: 'ARGUMENTS_REDACTED' }))
})

test('the error has the place of the marker', () => {
  expect(() => run({ 'a/b': { c: [1, '[redacted]'] } })).toThrow(/ at \/a~1b\/c\/1, /)
})

test('a value of another type that the schema marks is put back', () => {
  const marks = sensitivityOf(
    JSON.stringify({ function: { parameters: { properties: { n: { 'x-sensitive': true } } } } }),
  )
  const edited = argumentsToRun({ n: '[redacted]', m: 2 }, { sent: { n: 7, m: 1 } }, marks, SEALING)
  expect(edited).toEqual({ n: 7, m: 2 })
})

test('without a key no marker can be put back, and no new secret is taken', () => {
  const kept = { sent: SHOWN, isRedacted: true }
  const without = (edited: JsonObject) => () => argumentsToRun(edited, kept, NOT_SENSITIVE, undefined)
  expect(without(SHOWN)).toThrow(expect.objectContaining({ code: 'ARGUMENTS_REDACTED' }))
  expect(without({ password: 'new one' })).toThrow(/TOOLRACK_SEALING_KEY/)
  expect(without({ to: 'bob' })()).toEqual({ to: 'bob' })
})
