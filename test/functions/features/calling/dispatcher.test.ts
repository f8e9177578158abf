import { expect, test } from '@jest/globals'
import { toolResult } from '@toolrack/contract'
import { setImmediate } from 'node:timers/promises'
import { AT_ONCE, dispatch, parseCalls } from '../../../../functions/src/features/calling/dispatcher.ts'
import { HeldResults } from '../../../../functions/src/features/calling/held-results.ts'
import { STRETCH_MS } from '../../../../functions/src/loop-turn.ts'
import type { Asked, Pipeline } from '../../../../functions/src/calls/call.ts'

const USER = { kind: 'user', uid: 'ann', isAdmin: false } as const
const NO_HEADERS = { idempotencyKey: undefined, traceparent: undefined }
const meta = {
  invocationId: 'i',
  tool: 'T',
  digest: null,
  revision: null,
  isolation: null,
  executionTimeMs: 0,
  resourceUsage: null,
  replayed: false,
}
const calls = (count: number) =>
  parseCalls(
    Array.from({ length: count }, (_, index) => ({
      type: 'tool_use',
      id: `c${index}`,
      name: 'T',
      input: { index },
    })),
  )

test(`${AT_ONCE} calls run at the same time, and never more; the answers keep the order of the calls`, async () => {
  let running = 0
  let most = 0
  const begun: (() => void)[] = []
  const pipeline = {
    invoke: async ({ read }: Asked) => {
      const { index } = (await read()).arguments
      running += 1
      most = Math.max(most, running)
      // The first calls end only when all of them have begun, the last of them first.
      await new Promise<void>((resolve) => {
        begun.push(resolve)
        if (begun.length >= AT_ONCE) for (const end of begun.toReversed()) end()
      })
      running -= 1
      return { result: { ...toolResult(`said ${JSON.stringify(index)}`), meta }, retryAfterSeconds: null }
    },
  }
  const signal = new AbortController().signal
  const answer = await dispatch(
    pipeline as unknown as Pipeline,
    { principal: USER, headers: NO_HEADERS, signal },
    calls(20),
    new HeldResults().begin('ann'),
  )
  expect(most).toBe(AT_ONCE)
  expect(answer.results.map(({ id, result }) => [id, result?.textResultForLlm])).toEqual(
    Array.from({ length: 20 }, (_, index) => [`c${index}`, `said ${index}`]),
  )
})

test('others have a turn between calls that take long without waiting, however many are sent', async () => {
  const seen: string[] = []
  const state = { isOver: false }
  async function others(): Promise<void> {
    for (; !state.isOver; await setImmediate()) seen.push('others')
  }
  const pipeline = {
    invoke: () => {
      seen.push('call')
      const end = performance.now() + STRETCH_MS + 1
      while (performance.now() < end);
      return Promise.resolve({ result: { ...toolResult('said'), meta }, retryAfterSeconds: null })
    },
  }
  const turns = others()
  const { signal } = new AbortController()
  const sender = { principal: USER, headers: NO_HEADERS, signal }
  await Promise.all(
    [1, 2].map(() =>
      dispatch(pipeline as unknown as Pipeline, sender, calls(AT_ONCE + 4), new HeldResults().begin('ann')),
    ),
  )
  state.isOver = true
  await turns
  // Only the first call of each request follows another call at once.
  const atOnce = seen.filter((what, index) => what === 'call' && seen[index - 1] === 'call')
  expect(atOnce.length).toBeLessThanOrEqual(1)
  expect(seen.filter((what) => what === 'call')).toHaveLength(2 * (AT_ONCE + 4))
})
