import { expect, test } from '@jest/globals'
import type { InvocationResult } from '@toolrack/contract'
import { toolFailure } from '@toolrack/contract'
import { invoke, invoked } from '../support/invocation.ts'
import { sharedServerWithRunner, uploaded } from '../support/modules.ts'
import type { Server } from '../support/server.ts'
import { withPython } from '../support/runner-environment.ts'
import { put, tool } from '../support/tool.ts'
import { WEATHER } from '../support/weather-module.ts'

const start = sharedServerWithRunner()
let uploading: Promise<unknown> | undefined

/** The server with the module in the user's layer. */
async function withWeather(): Promise<Server> {
  const server = await start()
  await (uploading ??= uploaded(server, 'weather', WEATHER))
  return server
}

const FIGURES = `
def all() -> dict:
    "Gives numbers of every kind."
    return {"id": 2**53 + 1, "mean": 1.0, "10": "ten", "9": -0.0, "value": {"value": [1e-07]}}


def bare() -> int:
    "Gives a large number."
    return 123456789012345678901234567890


def beyond() -> int:
    "Gives a number that is infinite for JavaScript."
    return 10**400


TOOL_SPECS = [
    {"name": f"figures:{handler.__name__}", "handler": handler} for handler in (all, bare, beyond)
]
`

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

withPython('half a character is refused before a Python tool is asked, and a whole one arrives', async () => {
  const server = await withWeather()
  const [status, result] = await invoked(server, 'weather:get', { location: 'Bern\ud83d' })
  expect([status, result]).toEqual([400, expect.objectContaining({ code: 'ARGUMENTS_INVALID' })])
  const [, whole] = await invoked(server, 'weather:get', { location: 'Bern\ud83d\ude00', days: 2 })
  expect(whole).toMatchObject({ textResultForLlm: 'Bern\u{1F600}: cloudy for 2 day(s)' })
})

withPython('a Python tool answers with its text, and with what the call was', async () => {
  const [status, result] = await invoked(await withWeather(), 'weather:get', { location: 'Bern', days: 2 })
  expect(status).toBe(200)
  expect(result).toEqual({
    resultType: 'success',
    textResultForLlm: 'Bern: cloudy for 2 day(s)',
    meta: {
      invocationId: expect.stringMatching(UUID),
      tool: 'weather:get',
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      revision: expect.any(String),
      isolation: expect.stringMatching(/^L[234]$/),
      executionTimeMs: expect.any(Number),
      resourceUsage: {
        wallMs: expect.any(Number),
        cpuMs: expect.any(Number),
        maxRssBytes: expect.any(Number),
      },
      replayed: false,
    },
  })
})

withPython(
  'what is not text is data, and its JSON is the text; the context reaches who names it',
  async () => {
    const server = await withWeather()
    const [, numbers] = await invoked(server, 'weather__numbers', { values: [3, 1] })
    expect(numbers).toMatchObject({
      textResultForLlm: '{"min":1,"max":3,"values":[3,1]}',
      data: { min: 1, max: 3, values: [3, 1] },
    })
    const [, who] = await invoked(server, 'weather:who', {}, { context: { session: 's1' } })
    expect(who).toMatchObject({ data: { context: { user: 'local', caller: { session: 's1' } } } })
  },
)

withPython('numbers that JavaScript can not hold are in the text as the tool has them', async () => {
  const server = await start()
  await uploaded(server, 'figures', FIGURES)
  const [, result] = await invoked(server, 'figures:all')
  expect(result).toMatchObject({
    resultType: 'success',
    textResultForLlm: '{"id":9007199254740993,"mean":1.0,"10":"ten","9":-0.0,"value":{"value":[1e-07]}}',
    data: { id: 9_007_199_254_740_992, mean: 1, 9: -0, 10: 'ten', value: { value: [1e-7] } },
  })
  const [, bare] = await invoked(server, 'figures:bare')
  expect(bare).toMatchObject({
    textResultForLlm: '123456789012345678901234567890',
    data: 1.2345678901234568e29,
  })
  const [, beyond] = await invoked(server, 'figures:beyond')
  expect(beyond).toMatchObject({ resultType: 'failure', code: 'RESULT_INVALID' })
})

withPython('every call has a process of its own', async () => {
  const server = await withWeather()
  const calls = await Promise.all(Array.from({ length: 4 }, () => invoked(server, 'weather:who')))
  const pids = calls.map(([, result]) => (result as unknown as { data: { pid: number } }).data.pid)
  expect(new Set(pids).size).toBe(4)
})

const ENDS: readonly (readonly [string, object, number, string, RegExp])[] = [
  ['weather:broken', { location: 'Bern' }, 200, 'TOOL_RAISED', /line \d+, in broken[\s\S]*no weather there/],
  ['weather:crash', {}, 200, 'TOOL_CRASHED', /signal 6/],
  ['weather:hungry', {}, 200, 'MEMORY_LIMIT', /memory/],
  ['weather:not_a_number', {}, 200, 'RESULT_INVALID', /nan/i],
  ['weather:large', { characters: 300_000 }, 200, 'RESULT_TOO_LARGE', /300000 bytes, and 262144 are allowed/],
  ['weather:late', {}, 504, 'DEADLINE_EXCEEDED', /within 0\.25 s/],
  ['weather:get', {}, 400, 'ARGUMENTS_INVALID', /'location' is missing/],
  ['weather:get', { locaton: 'SECRET' }, 400, 'ARGUMENTS_INVALID', /Did you mean 'location'\?/],
  ['weather:get', { location: ['SECRET'] }, 400, 'ARGUMENTS_INVALID', /'location' must be of type string/],
  ['weather:nope', {}, 404, 'TOOL_NOT_FOUND', /^Unsupported tool: weather:nope$/],
]
for (const [name, args, httpStatus, code, error] of ENDS) {
  withPython(`${name} called with ${JSON.stringify(args)}: ${httpStatus} ${code}`, async () => {
    const server = await withWeather()
    const [status, result] = await invoked(server, name, args)
    expect([status, result]).toMatchObject([
      httpStatus,
      { resultType: 'failure', code, error: expect.stringMatching(error) },
    ])
    expect(result.textResultForLlm).toBe(result.resultType === 'failure' && result.error)
    expect(JSON.stringify(result)).not.toContain('SECRET')
  })
}

test('a built-in tool is run by the service itself', async () => {
  const server = await start()
  const [status, { meta, ...result }] = await invoked(server, 'ECHO', { text: 'Can you hear me?' })
  expect([status, result]).toEqual([200, { resultType: 'success', textResultForLlm: 'Can you hear me?' }])
  expect(meta).toMatchObject({ tool: 'ECHO', isolation: null, resourceUsage: null })
  expect(await invoked(server, 'ECHO', { txt: 'SECRET' })).toMatchObject([400, { code: 'ARGUMENTS_INVALID' }])
})

const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) })
const raw = (args: string): string => `{"name":"ECHO","arguments":${args}}`

test.each<[string, string, number, string, RegExp]>([
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
])('%s is refused as a result that a model can be handed', async (_title, body, httpStatus, code, error) => {
  const server = await start()
  const answer = await server.fetch('/workflows/tools/invoke', { method: 'POST', body })
  const { meta, ...result } = (await answer.json()) as InvocationResult
  expect([answer.status, result]).toEqual([
    httpStatus,
    toolFailure(code as 'BODY_INVALID', expect.stringMatching(error) as unknown as string),
  ])
  expect(meta).toMatchObject({ invocationId: expect.stringMatching(UUID), executionTimeMs: 0 })
  expect(answer.headers.get('Cache-Control')).toBe('private, no-store')
  expect(JSON.stringify(result)).not.toContain('SECRET')
})

test('32 levels are no fault of the arguments', async () => {
  const [, result] = await invoked(await start(), 'ECHO', deep(32))
  expect(result).toMatchObject({ error: expect.stringMatching(/'a' is not an argument of this tool/) })
})

test('a parameter in the address is refused, as a result', async () => {
  const server = await start()
  const answer = await server.fetch('/workflows/tools/invoke?dry=1', {
    method: 'POST',
    body: '{"name":"ECHO"}',
  })
  expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'PARAMETER_UNKNOWN' }])
})

test('without a valid token the error has the shape of all errors', async () => {
  const server = await start()
  const answer = await fetch(`${server.url}/workflows/tools/invoke`, {
    method: 'POST',
    body: '{"name":"ECHO"}',
  })
  expect([answer.status, await answer.json()]).toMatchObject([401, { error: { status: 'UNAUTHENTICATED' } }])
})

test('expectedDigest holds a call to the definition that was read', async () => {
  const server = await start()
  const { digest } = (await (await server.fetch('/workflows/tools/defs/ECHO?layer=file')).json()) as {
    digest: string
  }
  expect(await invoked(server, 'ECHO', { text: 'a' }, { expectedDigest: digest })).toMatchObject([200, {}])
  const other = `sha256:${'0'.repeat(64)}`
  expect(await invoked(server, 'ECHO', { text: 'a' }, { expectedDigest: other })).toMatchObject([
    409,
    { code: 'DIGEST_CHANGED', error: expect.stringMatching(/^ECHO has changed/) },
  ])
})

test('a tool that the client runs, and one that nothing runs yet, say so, and explain says the same', async () => {
  const server = await start()
  await put(server, 'BY_CLIENT', tool('BY_CLIENT'))
  await put(server, 'BY_WEB', tool('BY_WEB', 'Asks the web.', { runner: { kind: 'http' } }))
  await put(
    server,
    'NO_SUCH',
    tool('NO_SUCH', 'Names none.', { runner: { kind: 'builtin', builtin: 'toString' } }),
  )
  expect(await invoked(server, 'BY_CLIENT', {})).toMatchObject([409, { code: 'RUNS_AT_CLIENT' }])
  expect(await invoked(server, 'BY_WEB', {})).toMatchObject([
    501,
    { code: 'KIND_NOT_SERVED', error: expect.stringMatching(/'http'/) },
  ])
  expect(await invoked(server, 'NO_SUCH', {})).toMatchObject([501, { code: 'KIND_NOT_SERVED' }])
  const callable = async (name: string): Promise<unknown> =>
    ((await (await server.fetch(`/workflows/tools/explain?name=${name}`)).json()) as { callable: unknown })
      .callable
  expect([
    await callable('BY_CLIENT'),
    await callable('BY_WEB'),
    await callable('NO_SUCH'),
    await callable('ECHO'),
  ]).toEqual(['client', null, null, 'service'])
})

const words = ([, result]: readonly [number, InvocationResult]): string => result.textResultForLlm

test('a job token calls the tools that it names at their digests, and hears of no other', async () => {
  const server = await start()
  await put(server, 'NAMED', tool('NAMED', 'Echoes.', { runner: { kind: 'builtin', builtin: 'echo' } }))
  const { digest } = (await (await server.fetch('/workflows/tools/defs/NAMED?layer=user')).json()) as {
    digest: string
  }
  const minted = await server.fetch('/workflows/jobs/tokens', {
    method: 'POST',
    body: JSON.stringify({ workflowId: 'w1', tools: [{ name: 'NAMED', digest }] }),
  })
  const { token } = (await minted.json()) as { token: string }
  const headers = { Authorization: `Bearer ${token}` }
  const call = async (name: string): Promise<readonly [number, InvocationResult]> => {
    const answer = await invoke(server, { name, arguments: { text: 'a' } }, { family: 'jobs', headers })
    return [answer.status, (await answer.json()) as InvocationResult]
  }
  expect(await call('NAMED')).toMatchObject([200, { textResultForLlm: 'a' }])
  const [there, notThere] = [await call('ECHO'), await call('ECHOES')]
  expect(there).toMatchObject([403, { code: 'PERMISSION_DENIED', meta: { tool: null } }])
  expect(words(there)).toBe(words(notThere).replaceAll('ECHOES', 'ECHO'))
  await put(server, 'NAMED', tool('NAMED', 'Echoes more.', { runner: { kind: 'builtin', builtin: 'echo' } }))
  expect(await call('NAMED')).toMatchObject([409, { code: 'DIGEST_CHANGED' }])
  await server.fetch('/workflows/tools/defs/NAMED?layer=user', { method: 'DELETE' })
  expect(await call('NAMED')).toMatchObject([404, { error: 'Unsupported tool: NAMED' }])
})
