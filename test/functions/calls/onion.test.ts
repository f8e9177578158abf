import { expect, test } from '@jest/globals'
import { toolFailure, toolResult, ToolrackError } from '@toolrack/contract'
import fc from 'fast-check'
import { outcomeOf } from '../../../functions/src/calls/call.ts'
import type { CallOutcome, Received, Requested } from '../../../functions/src/calls/call.ts'
import { Onion } from '../../../functions/src/calls/onion.ts'
import type { Step } from '../../../functions/src/calls/onion.ts'
import { receivedCall, requestedCall } from '../../support/call-stages.ts'

/** How a step of a random stack behaves. */
const WAYS = [
  'passes the call on',
  'refuses',
  'refuses when cancelled',
  'fails before next',
  'fails before next, not async',
  'answers without next',
  'changes the answer',
  'does not wait, and answers',
  'fails after next',
  'refuses after next',
  'calls next twice',
  'does not wait, and fails',
  'stops waiting when cancelled',
] as const
type Way = (typeof WAYS)[number]
type Layer = { readonly way: Way; readonly turns: number }

/** These do not wait for what they have started, and so have nothing to close. */
const WITHOUT_WAITING: ReadonlySet<Way> = new Set([
  'does not wait, and answers',
  'does not wait, and fails',
  'stops waiting when cancelled',
])

const RUNS = { answers: 'ran', refuses: 'RUNNER_BUSY', fails: 'INTERNAL' } as const
const stacks = fc.record({
  layers: fc.array(fc.record({ way: fc.constantFrom(...WAYS), turns: fc.nat(2) }), { maxLength: 8 }),
  run: fc.constantFrom('answers', 'refuses', 'fails'),
  runTurns: fc.nat(4),
  cancelledAfter: fc.nat(12),
})

/** What happened in one call. */
type Story = {
  readonly events: string[]
  /** The steps that have acted on the cancellation. */
  readonly stopped: Set<number>
}

async function wait(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate)
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })
}

function stepOf({ way, turns }: Layer, index: number, { events, stopped }: Story): Step<Received> {
  const refusal = new ToolrackError('PERMISSION_DENIED', `refused by ${index}`)
  const answer = (call: Received): CallOutcome => outcomeOf(call, toolResult(`answer of ${index}`))
  if (way === 'fails before next, not async')
    return () => {
      throw new Error('a bug')
    }
  if (WITHOUT_WAITING.has(way))
    return async (call, next) => {
      const inside = next(call)
      if (way === 'stops waiting when cancelled') {
        const first = await Promise.race([inside, aborted(call.signal)])
        if (first) return first
        stopped.add(index)
      }
      await wait(turns)
      if (way === 'does not wait, and answers') return answer(call)
      throw new Error('a bug')
    }
  return async (call, next) => {
    events.push(`open ${index}`)
    try {
      await wait(turns)
      if (way === 'refuses when cancelled' && call.signal.aborted) {
        stopped.add(index)
        throw refusal
      }
      if (way === 'refuses') throw refusal
      if (way === 'fails before next') throw new Error('a bug')
      if (way === 'answers without next') return answer(call)
      const outcome = await next(call)
      await wait(turns)
      if (way === 'fails after next') throw new Error('a bug')
      if (way === 'refuses after next') throw refusal
      if (way === 'calls next twice') return await next(call)
      return way === 'changes the answer' ? answer(call) : outcome
    } finally {
      events.push(`close ${index}`)
    }
  }
}

type Expected = {
  /** The text of the result, or the code of the failure. */
  readonly says: string
  readonly isRun: boolean
  readonly failedLate: number
}

/** What the steps from `index` on come to. */
function expected(
  layers: readonly Layer[],
  run: keyof typeof RUNS,
  stopped: ReadonlySet<number>,
  index = 0,
): Expected {
  const layer = layers[index]
  if (!layer) return { says: RUNS[run], isRun: true, failedLate: 0 }
  const inside = expected(layers, run, stopped, index + 1)
  const unrun = { isRun: false, failedLate: 0 }
  const asItWas = inside
  const late = { ...inside, failedLate: inside.failedLate + 1 }
  const isStopped = stopped.has(index)
  const refused = { ...unrun, says: `refused by ${index}` }
  const broken = { ...unrun, says: 'INTERNAL' }
  const comesTo: Readonly<Record<Way, Expected>> = {
    'passes the call on': asItWas,
    refuses: refused,
    'refuses when cancelled': isStopped ? refused : asItWas,
    'fails before next': broken,
    'fails before next, not async': broken,
    'answers without next': { ...unrun, says: `answer of ${index}` },
    'changes the answer': { ...inside, says: `answer of ${index}` },
    'does not wait, and answers': { ...inside, says: `answer of ${index}` },
    'fails after next': late,
    'refuses after next': late,
    'calls next twice': late,
    'does not wait, and fails': late,
    'stops waiting when cancelled': isStopped ? late : asItWas,
  }
  return comesTo[layer.way]
}

function saysOf({ result }: CallOutcome): string {
  if (result.resultType === 'success') return result.textResultForLlm
  return result.code === 'PERMISSION_DENIED' ? result.error : result.code
}

/** Notes the failures that no caller is told of. */
function noted() {
  const logged: unknown[] = []
  let late = 0
  const log = {
    info: () => undefined,
    warn: () => undefined,
    error: (_: string, fields?: object) => logged.push(fields),
  }
  return { log, countAfterNext: () => void (late += 1), logged, late: () => late }
}

test('whatever steps throw, answer or leave: each closes once, inside out, and what the tool did stands', async () => {
  await fc.assert(
    fc.asyncProperty(stacks, async ({ layers, run, runTurns, cancelledAfter }) => {
      const story: Story = { events: [], stopped: new Set() }
      const told = noted()
      let onion = Onion.withoutSteps(told)
      for (const [index, layer] of layers.entries())
        onion = onion.step(`step ${index}`, stepOf(layer, index, story))
      const take = onion.run('run', async (call) => {
        story.events.push('open run')
        await wait(runTurns)
        story.events.push('close run')
        if (run === 'fails') throw new Error('a bug')
        return outcomeOf(call, run === 'answers' ? toolResult('ran') : toolFailure('RUNNER_BUSY', 'Busy.'))
      })
      const caller = new AbortController()
      const call = receivedCall({ signal: caller.signal })
      const [outcome] = await Promise.all([take(call), wait(cancelledAfter).then(() => caller.abort())])

      const { says, isRun, failedLate } = expected(layers, run, story.stopped)
      expect(saysOf(outcome)).toBe(says)
      expect(story.events.includes('open run')).toBe(isRun)
      expect(told.late()).toBe(failedLate)
      const opened = story.events.filter((event) => event.startsWith('open'))
      const closed = opened.map((event) => event.replace('open', 'close')).toReversed()
      expect(story.events).toEqual([...opened, ...closed])
    }),
    { numRuns: 1_000 },
  )
}, 60_000)

/** One step around a tool that answers after a moment. */
function around(step: Step<Received>) {
  const told = noted()
  const take = Onion.withoutSteps(told)
    .step('the step', step)
    .run('run', async (call) => {
      await wait(1)
      return outcomeOf(call, toolResult('ran'))
    })
  return { take, told }
}

test('the log names the step that failed late, and the call, and keeps the reason', async () => {
  const { take, told } = around(async (call, next) => {
    await next(call)
    throw new TypeError('SECRET')
  })
  const outcome = await take(receivedCall({ invocationId: 'i7' }))
  expect(saysOf(outcome)).toBe('ran')
  expect(told.logged).toEqual([
    { invocationId: 'i7', step: 'the step', error: expect.stringContaining('TypeError: SECRET') },
  ])
})

test('what nobody foresaw is INTERNAL to the caller; the log has its reason', async () => {
  const { take, told } = around(() => Promise.reject(new TypeError('SECRET')))
  const outcome = await take(receivedCall())
  expect(outcome.result).toMatchObject({ code: 'INTERNAL', error: expect.not.stringContaining('SECRET') })
  expect(told.logged).toEqual([expect.objectContaining({ error: expect.stringContaining('SECRET') })])
  expect(told.late()).toBe(0)
})

test.each([undefined, null, Object.create(null), 7, { toString: 'no function' }])(
  'a step that throws %p, which is no error, has failed like any other',
  async (thrown) => {
    const { take } = around(() => {
      throw thrown
    })
    expect(saysOf(await take(receivedCall()))).toBe('INTERNAL')
  },
)

test('a step that has answered cannot start the rest any more', async () => {
  let late: (() => Promise<CallOutcome>) | undefined
  const { take } = around(async (call, next) => {
    late = () => next(call)
    return outcomeOf(call, toolResult('answered'))
  })
  expect(saysOf(await take(receivedCall()))).toBe('answered')
  expect(() => late?.()).toThrow(/'the step' may call next once, and not after its end/)
})

test('an outer step sees what the inner ones found out, and what they refused', async () => {
  const seen: CallOutcome[] = []
  const take = Onion.withoutSteps(noted())
    .step('inspect', async (call, next) => {
      const outcome = await next(call)
      seen.push(outcome)
      return outcome
    })
    .step<Requested>('read', (call, next) => next({ ...requestedCall({ name: 'N' }), ...call }))
    .run('refuse', () => Promise.reject(new ToolrackError('PERMISSION_DENIED', 'No.')))
  await take(receivedCall())
  expect(seen).toMatchObject([{ call: { request: { name: 'N' } }, result: { code: 'PERMISSION_DENIED' } }])
})
