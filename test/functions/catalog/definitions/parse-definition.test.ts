import { expect, test } from '@jest/globals'
import type { JsonObject, JsonValue } from '@toolrack/contract'
import { parseDefinition } from '../../../../functions/src/catalog/definitions/parse-definition.ts'

const fn = { name: 'a', description: 'b', parameters: {} }
const ours = { type: 'function', function: fn }
const withFn = (more: JsonObject): JsonObject => ({ ...ours, function: { ...fn, ...more } })

/** Reason, pointer and sentence of each fault, in the order that they are told. */
async function faultsOf(sent: JsonValue): Promise<[string, string, string][]> {
  const parsed = await parseDefinition(sent)
  return 'faults' in parsed
    ? parsed.faults.map(({ reason, pointer, message }) => [reason, pointer, message])
    : []
}

test.each<[string, JsonObject, string, RegExp]>([
  [
    'no name',
    { type: 'function', function: { description: '', parameters: {} } },
    '/function/name',
    /^is missing; it must be a string$/,
  ],
  ['a number for a name', withFn({ name: 5 }), '/function/name', /^must be a string$/],
  ['null for a description', withFn({ description: null }), '/function/description', /^must be a string$/],
  ['a long description', withFn({ description: 'x'.repeat(16_385) }), '/function/description', /16384/],
  [
    'a list for parameters',
    withFn({ parameters: [] }),
    '/function/parameters',
    /must be an object: the JSON Schema/,
  ],
  ['a text for parameters', withFn({ parameters: '{}' }), '/function/parameters', /must be an object/],
  [
    'an unknown key of the function',
    withFn({ paramaters: {} }),
    '/function/paramaters',
    /the key is not known here; known are type, function/,
  ],
  ['an unknown key', { ...ours, catgory: 'x' }, '/catgory', /the key is not known here/],
  ['an unknown key with a slash', { ...ours, 'a/b': 1 }, '/a~1b', /the key is not known here/],
  ['another type', { ...ours, type: 'tool' }, '/type', /^must be "function"$/],
  [
    'a class that rules do not know',
    { ...ours, annotations: { classes: ['file_read', 'file_reed'] } },
    '/annotations/classes/1',
    /"file_read" or .*"opaque"|"opaque"/,
  ],
  [
    'a class that is no list',
    { ...ours, annotations: { classes: 'read' } },
    '/annotations/classes',
    /list|array/,
  ],
  [
    'a runner of unknown kind',
    { ...ours, runner: { kind: 'ruby' } },
    '/runner/kind',
    /"python" or "builtin"/,
  ],
  [
    'a workflow runner without workflow',
    { ...ours, runner: { kind: 'workflow' } },
    '/runner/workflowName',
    /is missing/,
  ],
  [
    'a deep runner',
    { ...ours, runner: { kind: 'http', x: [[[[[[1]]]]]] } },
    '/runner',
    /deeper than 6 levels/,
  ],
  [
    'a large annotation',
    { ...ours, annotations: { x: Array.from({ length: 501 }, () => 0) } },
    '/annotations',
    /more than 500 values/,
  ],
  [
    'a hint that is a text',
    { ...ours, annotations: { readOnlyHint: 'yes' } },
    '/annotations/readOnlyHint',
    /^must be a boolean$/,
  ],
  ['a tag with a comma', { ...ours, tags: ['a', 'b,c'] }, '/tags/1', /without a comma/],
  ['an empty tag', { ...ours, tags: [''] }, '/tags/0', /1 to 64 characters/],
  ['a tag of 65 characters', { ...ours, tags: ['x'.repeat(65)] }, '/tags/0', /1 to 64 characters/],
  ['33 tags', { ...ours, tags: Array.from({ length: 33 }, (_, n) => `t${n}`) }, '/tags', /32/],
  ['a category that starts with a blank', { ...ours, category: ' x' }, '/category', /blank/],
  ['no time at all', { ...ours, limits: { timeoutSeconds: 0 } }, '/limits/timeoutSeconds', /0/],
  [
    'a call in two minutes',
    { ...ours, limits: { callsPerMinute: 0.5 } },
    '/limits/callsPerMinute',
    /^must be an int$/,
  ],
  ['no call a minute', { ...ours, limits: { callsPerMinute: 0 } }, '/limits/callsPerMinute', /at least 1/],
  ['too many at once', { ...ours, limits: { concurrent: 1_001 } }, '/limits/concurrent', /at most 1,000/],
  ['a text for sealed', { ...ours, sealed: 'true' }, '/sealed', /^must be a boolean$/],
])('%s is refused where it stands', async (_title, sent, pointer, message) => {
  expect(await faultsOf(sent)).toEqual([['DEFINITION_INVALID', pointer, expect.stringMatching(message)]])
})

/** A tool with the parameter `city` and this strategy. */
const failing = (onFailure: JsonValue): JsonObject => ({
  ...withFn({ parameters: { type: 'object', properties: { city: {} } } }),
  onFailure,
})
const fallback = (more: JsonObject): JsonObject => failing({ fallbackTools: [{ name: 'b', ...more }] })

test.each<[string, JsonObject, string, RegExp]>([
  ['a text', failing('retry'), '/onFailure', /^must be an object$/],
  ['an unknown key', failing({ retries: 1 }), '/onFailure/retries', /known are retry \{times, backoffMs/],
  ['a kind in a kind', failing({ timeout: { network: {} } }), '/onFailure/timeout/network', /not known/],
  ['no number of retries', failing({ retry: {} }), '/onFailure/retry/times', /is missing; it must be a/],
  ['six retries', failing({ retry: { times: 6 } }), '/onFailure/retry/times', /<=5/],
  ['half a retry', failing({ retry: { times: 0.5 } }), '/onFailure/retry/times', /int/],
  [
    'a wait of 31 s',
    failing({ retry: { times: 1, backoffMs: 31_000 } }),
    '/onFailure/retry/backoffMs',
    /30000/,
  ],
  ['a wait below 0', failing({ retry: { times: 1, backoffMs: -1 } }), '/onFailure/retry/backoffMs', />=0/],
  [
    'a shorter deadline',
    failing({ timeout: { retry: { times: 1, timeoutFactor: 0.5 } } }),
    '/onFailure/timeout/retry/timeoutFactor',
    />=1/,
  ],
  [
    'six fallbacks',
    failing({ fallbackTools: ['b', 'c', 'd', 'e', 'f', 'g'].map((name) => ({ name })) }),
    '/onFailure/fallbackTools',
    /^has more than 5 tools$/,
  ],
  [
    'itself',
    failing({ fallbackTools: [{ name: 'a' }] }),
    '/onFailure/fallbackTools/0/name',
    /is the tool itself/,
  ],
  [
    'itself by its alias',
    { ...withFn({ name: 'z:main' }), onFailure: { fallbackTools: [{ name: 'z__main' }] } },
    '/onFailure/fallbackTools/0/name',
    /is the tool itself or its alias/,
  ],
  [
    'a fallback twice, once by its alias',
    failing({ fallbackTools: [{ name: 'b:alt' }, { name: 'b__alt' }] }),
    '/onFailure/fallbackTools/1/name',
    /named twice/,
  ],
  [
    'a fallback twice',
    failing({ network: { fallbackTools: [{ name: 'b' }, { name: 'b' }] } }),
    '/onFailure/network/fallbackTools/1/name',
    /named twice/,
  ],
  [
    'a parameter that it does not have',
    fallback({ args: { town: 'place' } }),
    '/onFailure/fallbackTools/0/args/town',
    /not a parameter of this tool/,
  ],
  [
    'a value for an argument',
    fallback({ args: { town: 1 } }),
    '/onFailure/fallbackTools/0/args/town',
    /string/,
  ],
  ['a text for a question', failing({ ask: 'yes' }), '/onFailure/ask', /boolean/],
])('a strategy for failures is refused at its place: %s', async (_title, sent, pointer, message) => {
  expect(await faultsOf(sent)).toEqual([['DEFINITION_INVALID', pointer, expect.stringMatching(message)]])
})

test('a fallback with a name that is not allowed has the reason of a name', async () => {
  expect(await faultsOf(fallback({ name: '9' }))).toMatchObject([
    ['NAME_INVALID', '/onFailure/fallbackTools/0/name', expect.any(String)],
  ])
})

test('a strategy for failures is kept as it was written', async () => {
  const strategy = { retry: { times: 5, backoffMs: 30_000, timeoutFactor: 10 }, ask: true, degraded: false }
  const fallbackTools = [{ name: 'b', args: { town: 'city' } }, { name: 'c' }]
  const onFailure = { ...strategy, fallbackTools, timeout: { retry: { times: 0 } }, network: strategy }
  expect(await parseDefinition(failing(onFailure))).toMatchObject({ definition: { onFailure } })
})

test.each<[string, JsonObject, string]>([
  ['a bare function', { ...fn, name: '' }, '/name'],
  ['a bare function without a name', { description: 'b', parameters: {} }, '/name'],
  ["a bare function's parameters", { ...fn, parameters: 5 }, '/parameters'],
  ["an MCP tool's schema", { name: 'a', inputSchema: [] }, '/inputSchema'],
  ["an MCP tool's title", { name: 'a', inputSchema: {}, title: 5 }, '/title'],
  [
    "an MCP tool's annotations",
    { name: 'a', inputSchema: {}, title: 'T', annotations: { readOnlyHint: 1 } },
    '/annotations/readOnlyHint',
  ],
  ["an Anthropic tool's schema", { name: 'a', input_schema: 'x' }, '/input_schema'],
  ["a Gemini declaration's schema", { name: 'a', parametersJsonSchema: true }, '/parametersJsonSchema'],
  ['a second schema beside the first', { ...fn, inputSchema: {} }, '/inputSchema'],
  ['the workflowName of an items envelope', { ...ours, workflowName: 5 }, '/workflowName'],
  ['the workflowName of a bare function', { ...fn, workflowName: '' }, '/workflowName'],
  ['a name in another key', { toolName: 5, description: 'b', parameters: {} }, '/toolName'],
  ['a description in another key', { name: 'a', desc: 5 }, '/desc'],
  ['a name beside the function', { id: 5, function: { description: 'b', parameters: {} } }, '/id'],
  ['a function in defs', { defs: { type: 'function', function: { ...fn, name: 5 } } }, '/defs/function/name'],
  ['a function in spec without a name', { spec: { function: { parameters: {} } } }, '/spec/function/name'],
  ['a key beside spec', { name: 'a', spec: {}, nmae: 'b' }, '/nmae'],
  ['a key in defs', { name: 'a', defs: { parameters: {}, paramters: {} } }, '/defs/paramters'],
  ['spec beside parameters', { ...fn, spec: {} }, '/spec'],
  ['defs that is no object', { name: 'a', defs: '{}' }, '/defs'],
  ['custom beside parameters', { ...fn, type: 'custom' }, '/type'],
])('a fault leads into what was sent: %s', async (_title, sent, pointer) => {
  expect((await faultsOf(sent)).map(([, at]) => at)).toEqual([pointer])
})

test.each<[string, JsonObject]>([
  ['constructor', withFn({ name: 'constructor' })],
  ['a space', withFn({ name: 'a b' })],
  ['a homoglyph', withFn({ name: 'RE\u0410D' })],
  ['two underscores on both sides', withFn({ name: '__x__' })],
  ['129 characters', withFn({ name: 'a'.repeat(129) })],
])('a name that is not allowed has its own reason: %s', async (_title, sent) => {
  expect(await faultsOf(sent)).toEqual([['NAME_INVALID', '/function/name', expect.any(String)]])
})

test.each<[string, JsonValue]>([
  ['a number', 5],
  ['a text', 'x'],
  ['null', null],
  ['a list', [ours]],
  ['true', true],
])('%s is no definition', async (_title, sent) => {
  expect(await faultsOf(sent)).toEqual([['DEFINITION_INVALID', '', 'a definition must be a JSON object']])
})

test('every fault of a definition is told at once', async () => {
  const sent = {
    type: 'x',
    function: { name: 'a b', description: 5, parameters: [], z: 1 },
    tags: 'a',
    sealed: 1,
  }
  expect((await faultsOf(sent)).map(([, pointer]) => pointer).toSorted()).toEqual([
    '/function/description',
    '/function/name',
    '/function/parameters',
    '/function/z',
    '/sealed',
    '/tags',
    '/type',
  ])
})

test('a fault repeats no value that was sent', async () => {
  const sent = {
    type: 'SECRET',
    function: { name: 'SECRET SECRET', description: ['SECRET'], parameters: 'SECRET' },
    runner: { kind: 'SECRET' },
    tags: [',SECRET'],
    sealed: 'SECRET',
  }
  const faults = await faultsOf(sent)
  expect(faults).toHaveLength(7)
  expect(JSON.stringify(faults)).not.toContain('SECRET')
})

test('half a million values in a runner are refused, not a crash', async () => {
  const runner = { kind: 'http', x: Array.from({ length: 500_000 }, () => 0) }
  expect((await faultsOf({ ...ours, runner })).map(([, pointer]) => pointer)).toEqual(['/runner'])
})

test('fields of runners, hints and limits that come later are kept as written', async () => {
  const later = {
    runner: { kind: 'http', url: 'https://example.com', retries: [1, { a: null }] },
    annotations: { 'x-own': { b: 1 } },
    limits: { memoryMB: 5 },
  }
  expect(await parseDefinition({ ...ours, ...later })).toMatchObject({ definition: { ...ours, ...later } })
})
