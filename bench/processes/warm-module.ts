import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { ARGUMENTS, callOf } from '../definitions/echo-tool.ts'
import type { Invocation } from '../definitions/echo-tool.ts'
import type { KeepAliveClient } from './keep-alive-client.ts'
import type { PythonRunner } from './python-runner.ts'

/** The number of calls without a pause. They find no waiting child, so the pool then keeps as many children as it may. */
const BURST = 50
/** How long to wait until the runner has a process that has imported the packages of the module, for the next children. */
const PACKAGES_MS = 3_000

/** Calls a module until children wait that have imported its packages. Returns a call without the source. */
export async function warmModule(
  client: KeepAliveClient,
  { isolation }: PythonRunner,
  module: string,
): Promise<Invocation> {
  const { source, ...call } = callOf(module)
  const answer = (await client.send('POST', '/invoke', { ...call, source })) as Record<string, unknown>
  assert.deepEqual(
    { value: answer['value'], isolation: answer['isolation'] },
    { value: ARGUMENTS, isolation },
  )
  await pause(PACKAGES_MS)
  for (let calls = 0; calls < BURST; calls += 1) await callTool(client, call)
  return call
}

/** Makes one call. Throws if the call fails, because a failure would be measured as a quick answer. */
export async function callTool(client: KeepAliveClient, call: Invocation): Promise<void> {
  const answer = (await client.send('POST', '/invoke', call)) as Record<string, unknown>
  assert.equal(answer['outcome'], 'success', JSON.stringify(answer))
}
