import type { JsonValue } from '@toolrack/contract'
import { tool } from '../../support/definition-changes.ts'
import { moduleOf } from './module-text.ts'

const granted = { name: 'hers', digest: '$HER_DIGEST$' }
const openai = { id: 'c1', type: 'function', function: { name: 'ECHO', arguments: '{"text":"x"}' } }
const anthropic = { type: 'tool_use', id: 't1', name: 'notes:write', input: { text: 'x' } }
const responses = { type: 'function_call', call_id: 'r1', name: 'TIME', arguments: '{}' }
const langchain = { type: 'tool_call', id: 'l1', name: 'ECHO', args: { text: 'x' } }
const aiSdk = { type: 'tool-call', toolCallId: 'a1', toolName: 'ECHO', input: { text: 'x' } }
const gemini = { functionCall: { id: 'g1', name: 'ECHO', args: { text: 'x' } } }

const rich = {
  ...tool('made', 'Made by a case.'),
  runner: { kind: 'builtin', builtin: 'echo' },
  category: 'fuzz',
  tags: ['a', 'b'],
  annotations: { title: 'Made', readOnlyHint: true },
  limits: { timeoutSeconds: 3 },
  onFailure: { retry: { times: 1 }, network: { fallbackTools: [{ name: 'ECHO' }], ask: true } },
  sealed: false,
}
const typed = {
  name: 'made',
  description: 'Takes more.',
  parameters: {
    type: 'object',
    properties: {
      text: { type: 'string', pattern: '^[a-z]+$', maxLength: 10 },
      list: { type: 'array', items: { $ref: '#/$defs/one' }, uniqueItems: true },
      many: { anyOf: [{ type: 'integer' }, { const: null }, { enum: ['x', 1] }] },
    },
    required: ['text'],
    additionalProperties: false,
    $defs: { one: { type: 'object', properties: { n: { type: 'number', minimum: 0 } } } },
  },
}

const mcp = { name: 'made', description: 'MCP.', inputSchema: { type: 'object', properties: {} } }
const anthropicTool = { name: 'made', input_schema: { type: 'object' }, cache_control: { type: 'ephemeral' } }
const geminiTool = {
  name: 'made',
  parametersJsonSchema: { type: 'OBJECT', properties: { a: { type: 'STRING' } } },
}

/** Bodies that a route takes, by its method and path. A text is sent as it is, anything else as JSON. */
const BODIES: Readonly<Record<string, readonly JsonValue[]>> = {
  'POST /tools/invoke': [
    { name: 'ECHO', arguments: { text: 'hello' } },
    { name: 'notes:write', arguments: { text: 'hello' }, context: { session: 's' } },
    { name: 'TIME', arguments: { timeZone: 'Europe/Zurich' } },
    { name: 'made', arguments: { text: 'abc', list: [{ n: 1 }], many: null } },
    { name: 'bobs_tool', arguments: {}, expectedDigest: '$BOBS_DIGEST$' },
    { name: 'vault:look' },
    { name: 'hers', expectedDigest: '$HER_DIGEST$' },
  ],
  'POST /tools/dispatch': [
    [openai],
    { role: 'assistant', tool_calls: [openai, { ...openai, id: 'c2' }] },
    [anthropic],
    { role: 'assistant', content: [{ type: 'text', text: 'x' }, anthropic] },
    { output: [responses] },
    { content: [anthropic], tool_calls: [langchain], invalid_tool_calls: [] },
    { role: 'assistant', content: [aiSdk] },
    { role: 'assistant', content: null, function_call: { name: 'ECHO', arguments: '{"text":"x"}' } },
    { parts: [gemini, { functionCall: { name: 'vault:look', args: {} } }] },
  ],
  'POST /tools/dispatch/complete': [
    { format: 'openai', calls: [openai], results: [{ index: 0, result: 'x' }] },
    {
      format: 'gemini',
      calls: { parts: [{ text: 'x' }, gemini] },
      results: [{ index: 1, id: 'g1', result: { encoded: 'x', cost: 0.5 } }],
    },
    {
      format: 'anthropic',
      calls: [anthropic],
      results: [
        {
          index: 0,
          result: { resultType: 'failure', textResultForLlm: 'x', error: 'x', code: 'TOOL_RAISED' },
        },
      ],
    },
  ],
  'POST /tools/defs': [
    [rich, tool('other')] as unknown as JsonValue,
    { family: 'fuzz', tools: [rich, typed] },
    typed,
    [mcp, { ...anthropicTool, name: 'other' }, { ...geminiTool, name: 'third' }],
  ],
  'PUT /tools/defs/:name': [rich, typed, mcp, anthropicTool, geminiTool, { description: 'Short.' }],
  'POST /tools/defs/:name/rollback': [
    { digest: '$HER_DIGEST$' },
    { digest: '$BOBS_DIGEST$' },
    { revision: '$BOBS_REVISION$' },
  ],
  'PUT /tools/modules/:name': [moduleOf('made'), moduleOf('notes'), { source: moduleOf('made') }],
  'POST /tools/modules/:name/rollback': [
    { sha256: '$HER_SHA256$' },
    { sha256: '$BOBS_SHA256$' },
    { revision: '$BOBS_REVISION$' },
  ],
  'POST /agents': [
    { name: 'Made', description: 'Made by a case.', workflowName: 'w', tools: ['ECHO', 'notes:write'] },
    { name: 'hers', inputSchema: { type: 'object', properties: { a: { enum: [1, null, 'x'] } } } },
  ],
  'PATCH /agents/:id': [{ name: 'Other', tools: [], inputSchema: { type: 'object' } }, { description: null }],
  'POST /agents/:id/tools': [{ tools: 'ECHO' }, { tools: ['ECHO', 'hers'] }],
  'DELETE /agents/:id/tools': [{ tools: 'ECHO' }, { tools: ['bobs_tool'] }],
  'PUT /agents/session/:sessionId': [{ agentId: 'made' }, { agentId: 'default' }],
  'PUT /rules/:kind/:id': [
    {
      rules: [
        { effect: 'deny', grant: 'network', value: '*.example.com:8443', future: true },
        { effect: 'allow', grant: 'packages', value: 'pandas[excel]>=2', future: true },
        { effect: 'ask', grant: 'secrets', value: 'caller:API_*', future: true },
      ],
    },
    { default: 'allow', rules: [{ effect: 'ask', tool: 'notes:*', args: { text: '*secret*' } }] },
  ],
  'POST /jobs/tokens': [
    { workflowId: 'w', tools: [granted], ttl: 60 },
    { workflowId: 'w', tools: [{ name: 'bobs_tool', digest: '$BOBS_DIGEST$' }] },
  ],
}

const ALL = Object.values(BODIES).flat()

/** Bodies to begin with; a route that takes none, or that nobody has thought of here, is sent those of all others. */
export function examplesOf(method: string, path: string): readonly JsonValue[] {
  return BODIES[`${method} ${path}`] ?? ALL
}

/** What a path may name. */
export const NAMES = [
  'hers',
  'made',
  'other',
  'notes',
  'notes:write',
  'ours',
  'ECHO',
  'bobs_tool',
  'vault',
  'vault:look',
].concat(['$BOBS_CALL$', '$HER_CALL$', 'constructor', '__proto__', 'list', 'refresh', 'notes__write', 'HERS'])

/** What is there for a path to name, and what is there for somebody else. */
export function likelyNames(address: string): readonly string[] {
  if (address.includes('/invocations/')) return ['$HER_CALL$', '$BOBS_CALL$']
  return address.includes('/modules/') ? ['notes', 'vault', 'made'] : ['hers', 'bobs_tool', 'made', 'ECHO']
}

/** The parameters of all routes with values that some route takes. */
export const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  names: [
    'hers',
    'hers,ECHO',
    '["hers","bobs_tool"]',
    '[]',
    'vault:look',
    'hers@$HER_DIGEST$',
    '["hers"',
    '[1]',
  ],
  name: ['hers', 'ECHO', 'bobs_tool', 'notes__write'],
  only: ['hers', '[]'],
  tags: ['a', 'diagnostic,b'],
  category: ['fuzz', 'echo'],
  dialect: ['openai', 'openai-responses', 'openai-strict', 'anthropic', 'gemini', 'mcp'],
  envelope: ['array', 'items'],
  strict: ['1', '0', 'true'],
  order: ['asc', 'desc', 'up'],
  limit: ['1', '2', '1000', '0', '-1', '1e3', '99999999999'],
  tool: ['hers', 'ECHO'],
  outcome: ['success', 'failure', 'TOOL_NOT_FOUND'],
  since: ['2026-01-01T00:00:00Z'],
  dryRun: ['1', '0'],
  cursor: ['hers', 'eyJuYW1lIjoiaGVycyJ9', 'dXNlcjpoZXJz', 'notes'],
  layer: ['user', 'global', 'file', 'bob', 'user/bob'],
  onConflict: ['upsert', 'skip', 'error'],
  onInvalid: ['fail', 'skip'],
  scope: ['x'],
}
