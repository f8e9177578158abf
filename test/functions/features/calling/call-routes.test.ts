import { expect, test } from '@jest/globals'
import { definitionDigest } from '@toolrack/contract'
import { tool } from '../../../support/definition-changes.ts'
import { routeService } from '../../../support/route-service.ts'
import type { RefusedRow } from '../../../support/route-service.ts'

const ECHO = { ...tool('ECHO'), runner: { kind: 'builtin', builtin: 'echo' } } as const
const CLIENT = tool('CLIENT')
const FLOW = { ...tool('FLOW'), runner: { kind: 'workflow', workflowName: 'flows-Own' } } as const
const ask = await routeService([ECHO, CLIENT, FLOW], {}, [{ name: 'ECHO', digest: definitionDigest(ECHO) }])

test('a call is answered with the result of its tool and what is known of the call', async () => {
  const { status, body, headers } = await ask('ann', 'POST /tools/invoke', {
    body: { name: 'ECHO', arguments: { text: 'a' } },
  })
  expect(status).toBe(200)
  expect(body).toMatchObject({
    resultType: 'success',
    meta: { tool: 'ECHO', digest: definitionDigest(ECHO), isolation: null },
  })
  expect(headers.get('Cache-Control')).toBe('private, no-store')
})

test('a failed call is a ToolResult too, under the status of its code', async () => {
  const { status, body } = await ask('ann', 'POST /tools/invoke', { body: { name: 'NONE' } })
  expect(status).toBe(404)
  expect(body).toMatchObject({
    resultType: 'failure',
    code: 'TOOL_NOT_FOUND',
    textResultForLlm: expect.any(String),
    meta: { tool: null, invocationId: expect.any(String) },
  })
})

test('a dispatch answers with the messages to append, and leaves calls of the client to the client', async () => {
  const body = [
    { type: 'tool_use', id: 'a', name: 'ECHO', input: { text: 'a' } },
    { type: 'tool_use', id: 'b', name: 'CLIENT', input: {} },
    { type: 'tool_use', id: 'c', name: 'FLOW', input: {} },
  ]
  const answer = await ask('ann', 'POST /tools/dispatch', { body })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('Cache-Control')).toBe('private, no-store')
  expect(answer.body).toMatchObject({
    format: 'anthropic',
    messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] }],
    results: [
      { index: 0, id: 'a', result: { resultType: 'success' } },
      { index: 1, result: null },
      { index: 2, result: null },
    ],
    pending: [
      { index: 1, id: 'b', name: 'CLIENT', layer: 'file', kind: 'client' },
      { index: 2, id: 'c', name: 'FLOW', layer: 'file', kind: 'workflow', workflowName: 'flows-Own' },
    ],
  })
})

const COMPLETED = {
  format: 'anthropic',
  calls: [{ type: 'tool_use', id: 'a', name: 'FLOW', input: {} }],
  results: [{ index: 0, result: { encoded: 'ran', cost: 1 } }],
}

test('reported results are answered with the messages to append, for every caller', async () => {
  for (const who of ['ann', 'account', 'token'] as const) {
    const answer = await ask(who, 'POST /tools/dispatch/complete', { body: COMPLETED })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('Cache-Control')).toBe('private, no-store')
    const content = [{ type: 'tool_result', tool_use_id: 'a', content: 'ran' }]
    expect(answer.body).toEqual({ format: 'anthropic', messages: [{ role: 'user', content }] })
  }
})

const invoke = (body: unknown) => ({ body })
const DEEP = '['.repeat(200_000) + ']'.repeat(200_000)
const STALE = `sha256:${'0'.repeat(64)}`

test.each<RefusedRow>([
  [
    'a call without a valid token',
    'nobody',
    'POST /tools/invoke',
    invoke({ name: 'ECHO' }),
    '401 TOKEN_INVALID',
  ],
  ['a call that is no JSON', 'ann', 'POST /tools/invoke', invoke('{'), '400 BODY_INVALID'],
  [
    'a call that is deep below parameters',
    'ann',
    'POST /tools/invoke',
    invoke(`{"name":"ECHO","arguments":{"parameters":${DEEP.slice(100_000, -100_000)}}}`),
    '400 BODY_INVALID',
  ],
  [
    'calls that are deep below parameters',
    'ann',
    'POST /tools/dispatch',
    invoke(`[{"type":"tool_use","id":"a","name":"CLIENT","input":{},"x":{"parameters":${DEEP}}}]`),
    '400 BODY_INVALID',
  ],
  [
    'results that are deep below parameters',
    'ann',
    'POST /tools/dispatch/complete',
    invoke(
      `{"format":"gemini","calls":[{"functionCall":{"name":"FLOW","args":{}}}],"results":[{"index":0,"result":{"resultType":"success","textResultForLlm":"a","data":{"parameters":${DEEP}}}}]}`,
    ),
    '400 BODY_INVALID',
  ],
  ['a call that is no object', 'ann', 'POST /tools/invoke', invoke([]), '400 BODY_INVALID'],
  ['a call of no name', 'ann', 'POST /tools/invoke', invoke({ name: 1 }), '400 BODY_INVALID'],
  [
    'a call with an unknown field',
    'ann',
    'POST /tools/invoke',
    invoke({ name: 'ECHO', a: 1 }),
    '400 BODY_INVALID',
  ],
  ['a session', 'ann', 'POST /tools/invoke', invoke({ name: 'ECHO', session: 's' }), '400 BODY_INVALID'],
  [
    'an unknown parameter of a call',
    'ann',
    'POST /tools/invoke?a=1',
    invoke({ name: 'ECHO' }),
    '400 PARAMETER_UNKNOWN',
  ],
  [
    'arguments that are no object',
    'ann',
    'POST /tools/invoke',
    invoke({ name: 'ECHO', arguments: 1 }),
    '400 ARGUMENTS_INVALID',
  ],
  [
    'arguments that the schema refuses',
    'ann',
    'POST /tools/invoke',
    invoke({ name: 'ECHO', arguments: { __proto__x: 1, constructor: 1 } }),
    '400 ARGUMENTS_INVALID',
  ],
  ['a call of the client', 'ann', 'POST /tools/invoke', invoke({ name: 'CLIENT' }), '409 RUNS_AT_CLIENT'],
  [
    'another digest',
    'ann',
    'POST /tools/invoke',
    invoke({ name: 'ECHO', expectedDigest: STALE }),
    '409 DIGEST_CHANGED',
  ],
  [
    'a tool that the token does not name',
    'token',
    'POST /tools/invoke',
    invoke({ name: 'CLIENT' }),
    '403 PERMISSION_DENIED',
  ],
  ['a dispatch without a valid token', 'nobody', 'POST /tools/dispatch', invoke([]), '401 TOKEN_INVALID'],
  ['a dispatch of no calls', 'ann', 'POST /tools/dispatch', invoke({ a: 1 }), '400 CALLS_INVALID'],
  ['a dispatch that is no JSON', 'ann', 'POST /tools/dispatch', invoke('{'), '400 BODY_INVALID'],
  [
    'an unknown parameter of a dispatch',
    'ann',
    'POST /tools/dispatch?a=1',
    invoke([]),
    '400 PARAMETER_UNKNOWN',
  ],
  [
    'results without a valid token',
    'nobody',
    'POST /tools/dispatch/complete',
    { body: COMPLETED },
    '401 TOKEN_INVALID',
  ],
  [
    'results that do not answer every call',
    'ann',
    'POST /tools/dispatch/complete',
    { body: { ...COMPLETED, results: [] } },
    '400 BODY_INVALID',
  ],
  [
    'an unknown parameter of results',
    'ann',
    'POST /tools/dispatch/complete?a=1',
    { body: COMPLETED },
    '400 PARAMETER_UNKNOWN',
  ],
  ['a workflow', 'ann', 'POST /tools/invoke', invoke({ name: 'FLOW' }), '409 RUNS_AT_CLIENT'],
])('%s is refused', async (_what, who, request, asked, expected) => {
  const { status, code } = await ask(who, request, asked)
  expect(`${status} ${code}`).toBe(expected)
})
