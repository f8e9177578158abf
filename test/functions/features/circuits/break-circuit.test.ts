import { describe, expect, test } from '@jest/globals'
import { toolFailure, toolResult, type ErrorCode } from '@toolrack/contract'
import { outcomeOf, type Authorised, type CallOutcome } from '../../../../functions/src/calls/call.ts'
import { hasRunNothing } from '../../../../functions/src/calls/nothing-run.ts'
import { breakCircuit } from '../../../../functions/src/features/circuits/break-circuit.ts'
import { Circuits } from '../../../../functions/src/features/circuits/circuits.ts'
import { verdictOf as verdictWithin } from '../../../../functions/src/features/circuits/verdict.ts'
import { resolvedCall } from '../../../support/call-stages.ts'
import { tool } from '../../../support/definition-changes.ts'

const verdictOf = (outcome: CallOutcome) => verdictWithin(outcome, 20_000)
const USAGE = { wallMs: 20_000, cpuMs: 1, maxRssBytes: 1 }
const CALL: Authorised = {
  ...resolvedCall({ ...tool('weather'), limits: { timeoutSeconds: 20 } }),
  decision: { effect: 'allow', owner: null, rule: null, reason: 'There are no rules.' },
}

function failed(code: ErrorCode, more: Partial<CallOutcome> = { usage: USAGE }): CallOutcome {
  return { ...outcomeOf(CALL, toolFailure(code, 'It failed.')), ...more }
}

/** The step over circuits with a clock, and how often the inner steps ran. */
function breaking() {
  const clock = { steadyMs: 0 }
  const circuits = new Circuits({
    now: () => 0,
    steadyMs: () => clock.steadyMs,
    log: { warn: () => undefined },
  })
  const step = breakCircuit({ circuits, deadlineMsMax: Infinity })
  const inner = { runs: 0, outcome: failed('TOOL_CRASHED') }
  const next = () => {
    inner.runs += 1
    return Promise.resolve(inner.outcome)
  }
  return { clock, inner, call: (more: Partial<Authorised> = {}) => step({ ...CALL, ...more }, next) }
}

describe('the step', () => {
  test('refuses the sixth call of a tool that fails, runs nothing, and says when to come again', async () => {
    const { clock, inner, call } = breaking()
    for (let n = 0; n < 5; n += 1) expect(await call()).toBe(inner.outcome)
    clock.steadyMs += 500
    const refused = await call()
    expect(inner.runs).toBe(5)
    expect(refused.result).toMatchObject({
      code: 'TOOL_UNAVAILABLE',
      error: expect.stringMatching(/^weather has failed 5 times in a row.*for another 60 s; nothing was run/),
    })
    expect(refused.retryAfterSeconds).toBe(60)
    expect(hasRunNothing(refused)).toBe(true)
  })

  test('refuses other calls while one tries, and lets all through after its success', async () => {
    const { clock, inner, call } = breaking()
    for (let n = 0; n < 5; n += 1) await call()
    clock.steadyMs += 60_000
    inner.outcome = outcomeOf(CALL, toolResult('sunny'))
    const trial = call()
    expect(await call()).toMatchObject({
      result: { code: 'TOOL_UNAVAILABLE', error: expect.stringContaining('is tried by one call now') },
      retryAfterSeconds: 1,
    })
    expect(await trial).toBe(inner.outcome)
    expect(await call()).toBe(inner.outcome)
  })
})

test('a call that has had less time than the definition says, such as a fallback, does not open the circuit', async () => {
  const { inner, call } = breaking()
  const limits = { timeoutSeconds: 3 }
  inner.outcome = failed('DEADLINE_EXCEEDED', { usage: { ...USAGE, wallMs: 3_000 } })
  for (let n = 0; n < 6; n += 1) expect(await call({ limits })).toBe(inner.outcome)
  inner.outcome = failed('DEADLINE_EXCEEDED')
  for (let n = 0; n < 5; n += 1) await call()
  expect((await call()).result).toMatchObject({ code: 'TOOL_UNAVAILABLE' })
})

test.each<ErrorCode>([
  'MODULE_BROKEN',
  'TOOL_CRASHED',
  'RESULT_INVALID',
  'MEMORY_LIMIT',
  'CPU_LIMIT',
  'DISK_LIMIT',
  'DEADLINE_EXCEEDED',
  'WORKER_DIED',
])('%s is a failure of the tool if it has run, and says nothing if it has not', (code) => {
  expect(verdictOf(failed(code))).toBe('failed')
  expect(verdictOf(failed(code, {}))).toBe('neither')
})

test.each<ErrorCode>([
  'TOOL_RAISED',
  'ARGUMENTS_INVALID',
  'RESULT_TOO_LARGE',
  'CANCELLED',
  'RUNNER_BUSY',
  'RUNNER_UNAVAILABLE',
  'TOOL_NOT_FOUND',
])('%s says nothing about the tool', (code) => {
  expect(verdictOf(failed(code))).toBe('neither')
})

test.each([
  ['network', 'failed'],
  ['timeout', 'failed'],
  ['permission', 'neither'],
] as const)('an exception of the kind %s: %s', (failureKind, verdict) => {
  expect(verdictOf({ ...failed('TOOL_RAISED'), failureKind })).toBe(verdict)
  expect(verdictOf({ ...failed('ARGUMENTS_INVALID'), failureKind })).toBe('neither')
})

test('a result says that the tool works', () => {
  expect(verdictOf(outcomeOf(CALL, toolResult('sunny')))).toBe('worked')
})
