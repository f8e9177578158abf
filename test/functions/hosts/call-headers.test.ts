import { afterAll, expect, test } from '@jest/globals'
import { createApp } from '../../../functions/src/hosts/services.ts'
import type { CallHeaders } from '../../../functions/src/calls/call.ts'
import { invokerOf } from '../../support/invoker-of.ts'
import { Onion } from '../../../functions/src/calls/onion.ts'
import { absentRunner } from '../../../functions/src/catalog/definitions/runner.ts'
import { callSteps } from '../../../functions/src/calls/pipeline/steps.ts'
import { listen, stopListening } from '../../../functions/src/hosts/local/listen.ts'
import { closeServices, createServices } from '../../../functions/src/hosts/services.ts'
import { MemoryDefinitionStore } from '../../support/memory-definition-store.ts'
import { featureStores } from '../../support/feature-stores.ts'
import { memoryGovernance } from '../../support/memory-governance.ts'
import { memoryInvocationLogs } from '../../support/memory-invocation-logs.ts'

const services = createServices({
  store: () => new MemoryDefinitionStore(),
  files: () => ({
    read: () => Promise.resolve({ revision: 'f1', whole: true, definitions: [], deleted: [], skipped: [] }),
  }),
  authenticate: () => ({ kind: 'user', uid: 'ann', isAdmin: false }),
  logs: memoryInvocationLogs(),
  governance: memoryGovernance(),
  runner: absentRunner('No runner belongs to this test.'),
  log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  corsOrigins: [],
})
const { argumentValidator: validator, governance } = services
const seen: CallHeaders[] = []
/** The steps that are served, inside one that notes the headers of each call. */
const invoker = invokerOf(
  {
    ...services,
    keys: featureStores(governance, Date.now).keys,
    validator,
    sourceOf: () => Promise.resolve(undefined),
    deadlineMsMax: Infinity,
  },
  (parts, failures) =>
    Onion.withoutSteps(failures)
      .step('note the headers', (call, next) => {
        seen.push(call.headers)
        return next(call)
      })
      .run('the served steps', callSteps(parts, failures)),
)
const listening = await listen(createApp({ ...services, invoker }), '127.0.0.1', 0)
afterAll(async () => {
  await stopListening(listening)
  await closeServices(services)
})

const HEADERS = {
  'Idempotency-Key': 'k1',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
}
const traceparent = HEADERS.traceparent

async function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<unknown> {
  const answer = await fetch(`${listening.url}/workflows/tools/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers,
  })
  await answer.text()
  return seen.splice(0)
}

test('a call knows the headers of its request, also when its body cannot be read', async () => {
  expect(await post('invoke', { name: 'NONE' }, HEADERS)).toEqual([{ idempotencyKey: 'k1', traceparent }])
  expect(await post('invoke', [], HEADERS)).toEqual([{ idempotencyKey: 'k1', traceparent }])
  expect(await post('invoke', { name: 'NONE' })).toEqual([{}])
})

test('each call of a dispatch has a key of its own, by its id, or by its place where it has none', async () => {
  const calls = [
    { type: 'tool_use', id: 'c1', name: 'NONE', input: {} },
    { type: 'tool_use', id: 'c2', name: 'NONE', input: {} },
  ]
  expect(await post('dispatch', calls, HEADERS)).toEqual([
    { idempotencyKey: 'k1\nid c1', traceparent },
    { idempotencyKey: 'k1\nid c2', traceparent },
  ])
  const gemini = [{ functionCall: { name: 'NONE', args: {} } }, { functionCall: { name: 'NONE', args: {} } }]
  expect(await post('dispatch', gemini, HEADERS)).toEqual([
    { idempotencyKey: 'k1\nindex 0', traceparent },
    { idempotencyKey: 'k1\nindex 1', traceparent },
  ])
  expect(await post('dispatch', calls)).toEqual([{}, {}])
})
