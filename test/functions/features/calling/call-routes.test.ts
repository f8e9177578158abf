import { expect, test } from '@jest/globals'
import { definitionDigest, toolFailure } from '@toolrack/contract'
import type { ErrorCode, InvocationResult, ToolDefinition } from '@toolrack/contract'
import { tool } from '../../../support/definition-changes.ts'
import { routeService } from '../../../support/route-service.ts'
import type { RefusedRow } from '../../../support/route-service.ts'
import { shippedTool } from '../../../support/shipped-tool.ts'

const ECHO = shippedTool('echo')
const CLIENT = tool('CLIENT')
const FLOW = { ...tool('FLOW'), runner: { kind: 'workflow', workflowName: 'flows-Own' } } as const
const WEB = { ...tool('WEB'), runner: { kind: 'http' } } as const
const NO_SUCH = { ...tool('NO_SUCH'), runner: { kind: 'builtin', builtin: 'toString' } } as const
const ask = await routeService([ECHO, CLIENT, FLOW, WEB, NO_SUCH], {}, [
  { name: 'ECHO', digest: definitionDigest(ECHO) },
])

const call = (name: string, args: unknown = {}, more: object = {}) =>
  ask('ann', 'POST /tools/invoke', { body: { name, arguments: args, ...more } })

test('a call is answered with the result of its tool and what is known of the call', async () => {
  const { status, body, headers } = await call('ECHO', { text: 'Can you hear me?' })
  const { meta, ...result } = body
  expect([status, result]).toEqual([200, { resultType: 'success', textResultForLlm: 'Can you hear me?' }])
  expect(meta).toEqual({
    invocationId: expect.stringMatching(UUID),
    tool: 'ECHO',
    digest: definitionDigest(ECHO),
    revision: expect.any(String),
    isolation: null,
    executionTimeMs: expect.any(Number),
    resourceUsage: null,
    replayed: false,
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

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) })
const raw = (args: string): string => `{"name":"ECHO","arguments":${args}}`

test.each<[string, string, number, ErrorCode, RegExp]>([
  [
    'arguments of 300 kB',
    JSON.stringify({ name: 'ECHO', arguments: { text: 'x'.repeat(300_000) } }),
    413,
    'BODY_TOO_LARGE',
    /./,
  ],
  [
    '33 levels',
    JSON.stringify({ name: 'ECHO', arguments: deep(33) }),
    400,
    'ARGUMENTS_INVALID',
    /^The argument 'a' is nested deeper than 32 levels/,
  ],
  [
    '1,000 levels',
    raw(`{"a":${'['.repeat(1_000)}${']'.repeat(1_000)}}`),
    400,
    'BODY_INVALID',
    /at \/arguments\/a/,
  ],
  [
    '33 levels below a schema key',
    JSON.stringify({ name: 'ECHO', arguments: { parameters: deep(33) } }),
    400,
    'ARGUMENTS_INVALID',
    /'parameters' is nested deeper/,
  ],
  ['__proto__', raw('{"text":{"__proto__":{"a":1}}}'), 400, 'BODY_INVALID', /__proto__.*\/arguments\/text/],
  [
    'constructor',
    raw('{"text":[{"constructor":1}]}'),
    400,
    'ARGUMENTS_INVALID',
    /'text' holds the key constructor/,
  ],
  ['prototype as an argument', raw('{"prototype":1}'), 400, 'ARGUMENTS_INVALID', /'prototype' has a name/],
  [
    'half a character',
    raw('{"text":"a\\ud800"}'),
    400,
    'ARGUMENTS_INVALID',
    /^The argument 'text' holds a lone surrogate, which is no text/,
  ],
  [
    'the other half, deep inside',
    raw('{"text":[{"a":"\\ude00\\ud83d"}]}'),
    400,
    'ARGUMENTS_INVALID',
    /^The argument 'text' holds a lone surrogate/,
  ],
  [
    'half a character in a key',
    raw('{"text":{"a\\ud800":1}}'),
    400,
    'ARGUMENTS_INVALID',
    /^The argument 'text' holds a key with a lone surrogate/,
  ],
  [
    'half a character in a name',
    raw('{"a\\ud800":1}'),
    400,
    'ARGUMENTS_INVALID',
    /^The argument \(its name is not repeated\) has a name with a lone surrogate/,
  ],
  [
    'half a character in the context',
    '{"name":"ECHO","arguments":{"text":"a"},"context":{"user":"\\ud800"}}',
    400,
    'BODY_INVALID',
    /\/context: its field 'user' holds a lone surrogate/,
  ],
  [
    'half a character in a key of the context',
    '{"name":"ECHO","arguments":{"text":"a"},"context":{"\\ud800":1}}',
    400,
    'BODY_INVALID',
    /\/context: its field .* has a name with a lone surrogate/,
  ],
  ['an argument twice', raw('{"text":"a","text":"b"}'), 400, 'BODY_INVALID', /same key twice/],
  ['no object', raw('["text"]'), 400, 'ARGUMENTS_INVALID', /must be a JSON object/],
  ['no JSON', '{"name":"ECHO"', 400, 'BODY_INVALID', /not valid JSON/],
  ['no body', '', 400, 'BODY_INVALID', /is empty/],
  ['no name', '{"arguments":{}}', 400, 'BODY_INVALID', /\/name/],
  ['a list', '[]', 400, 'BODY_INVALID', /must be a JSON object/],
  [
    'a field that is not known',
    '{"name":"ECHO","args":{}}',
    400,
    'BODY_INVALID',
    /takes name, arguments, context, expectedDigest and approval, and nothing else\. Did you mean 'arguments'\?$/,
  ],
  [
    'the fields of another system',
    '{"tool":"ECHO","args":{"text":"a"}}',
    400,
    'BODY_INVALID',
    /\/name: it must be the name of a tool\. Did you mean 'name' and 'arguments'\?$/,
  ],
  [
    'a dry run',
    '{"name":"ECHO","dryRun":true}',
    400,
    'BODY_INVALID',
    /in the address, not .*: \?dryRun=1\.$/,
  ],
  ['a session', '{"name":"ECHO","session":"s"}', 400, 'BODY_INVALID', /session/],
  ['a context that is no object', '{"name":"ECHO","context":1}', 400, 'BODY_INVALID', /\/context/],
  [
    'a digest that is none',
    '{"name":"ECHO","expectedDigest":"sha256:SECRET"}',
    400,
    'BODY_INVALID',
    /\/expectedDigest/,
  ],
  [
    'a name that no tool can have',
    '{"name":"SECRET me"}',
    404,
    'TOOL_NOT_FOUND',
    /^Unsupported tool: character 7/,
  ],
  ['a missing argument', raw('{}'), 400, 'ARGUMENTS_INVALID', /'text' is missing/],
  ['a misspelt argument', raw('{"txt":"SECRET"}'), 400, 'ARGUMENTS_INVALID', /Did you mean 'text'\?/],
  [
    'an argument of another type',
    raw('{"text":["SECRET"]}'),
    400,
    'ARGUMENTS_INVALID',
    /'text' must be of type string/,
  ],
  [
    'a tool that is not there',
    '{"name":"weather:nope"}',
    404,
    'TOOL_NOT_FOUND',
    /^Unsupported tool: weather:nope$/,
  ],
])('%s is refused as a result that a model can be handed', async (_title, body, httpStatus, code, error) => {
  const answer = await ask('ann', 'POST /tools/invoke', { body })
  const { meta, ...result } = answer.body
  expect([answer.status, result]).toEqual([
    httpStatus,
    toolFailure(code, expect.stringMatching(error) as unknown as string),
  ])
  expect(meta).toMatchObject({ invocationId: expect.stringMatching(UUID), executionTimeMs: 0 })
  expect(answer.headers.get('Cache-Control')).toBe('private, no-store')
  expect(JSON.stringify(result)).not.toContain('SECRET')
})

test('32 levels are no fault of the arguments', async () => {
  const { body } = await call('ECHO', deep(32))
  expect(body).toMatchObject({ error: expect.stringMatching(/'a' is not an argument of this tool/) })
})

test('expectedDigest holds a call to the definition that was read', async () => {
  const digest = definitionDigest(ECHO)
  expect(await call('ECHO', { text: 'a' }, { expectedDigest: digest })).toMatchObject({ status: 200 })
  expect(await call('ECHO', { text: 'a' }, { expectedDigest: STALE })).toMatchObject({
    status: 409,
    body: { code: 'DIGEST_CHANGED', error: expect.stringMatching(/^ECHO has changed/) },
  })
})

test('a tool that the client runs, and one that nothing runs yet, say so, and explain says the same', async () => {
  expect(await call('CLIENT')).toMatchObject({ status: 409, code: 'RUNS_AT_CLIENT' })
  expect(await call('WEB')).toMatchObject({
    status: 501,
    body: { code: 'KIND_NOT_SERVED', error: expect.stringMatching(/'http'/) },
  })
  expect(await call('NO_SUCH')).toMatchObject({ status: 501, code: 'KIND_NOT_SERVED' })
  const explained = ['CLIENT', 'WEB', 'NO_SUCH', 'ECHO'].map((name) =>
    ask('ann', `GET /tools/explain?name=${name}`),
  )
  expect((await Promise.all(explained)).map(({ body }) => body['callable'])).toEqual([
    'client',
    null,
    null,
    'service',
  ])
})

const NAMED: ToolDefinition = { ...tool('NAMED'), runner: { kind: 'builtin', builtin: 'echo' } }
const asJob = await routeService([ECHO], {}, [{ name: 'NAMED', digest: definitionDigest(NAMED) }])

test('a job token calls the tools that it names at their digests, and hears of no other', async () => {
  const path = '/tools/defs/NAMED?layer=user'
  const put = (body: ToolDefinition) => asJob('ann', `PUT ${path}`, { body })
  const called = async (name: string) => {
    const { status, body } = await asJob('token', 'POST /tools/invoke', {
      body: { name, arguments: { text: 'a' } },
    })
    return { status, result: body as unknown as InvocationResult }
  }
  expect(await put(NAMED)).toMatchObject({ status: 201 })
  expect(await called('NAMED')).toMatchObject({ status: 200, result: { textResultForLlm: 'a' } })
  const [there, notThere] = [await called('ECHO'), await called('ECHOES')]
  expect(there).toMatchObject({ status: 403, result: { code: 'PERMISSION_DENIED', meta: { tool: null } } })
  expect(there.result.textResultForLlm).toBe(notThere.result.textResultForLlm.replaceAll('ECHOES', 'ECHO'))
  await put({ ...tool('NAMED', 'Echoes more.'), runner: { kind: 'builtin', builtin: 'echo' } })
  expect(await called('NAMED')).toMatchObject({ status: 409, result: { code: 'DIGEST_CHANGED' } })
  await asJob('ann', `DELETE ${path}`)
  expect(await called('NAMED')).toMatchObject({
    status: 404,
    result: { error: 'Unsupported tool: NAMED' },
  })
})

test.each([
  ['empty', ''],
  ['too long', 'k'.repeat(256)],
  ['not ASCII', 'schl\u00fcssel'],
])('a key that is %s is a 400, and nothing is run', async (_what, key) => {
  const headers = { 'Idempotency-Key': key }
  for (const [path, body] of [
    ['invoke', { name: 'ECHO', arguments: { text: 'a' } }],
    ['dispatch', []],
  ] as const) {
    const answer = await ask('ann', `POST /tools/${path}`, { body, headers })
    expect([answer.status, answer.code]).toEqual([400, 'HEADER_INVALID'])
  }
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
  ['a call of no name', 'ann', 'POST /tools/invoke', invoke({ name: 1 }), '400 BODY_INVALID'],
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
