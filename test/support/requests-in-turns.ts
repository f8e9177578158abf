import type { ToolDefinition } from '@toolrack/contract'
import type { Runner } from '../../functions/src/catalog/definitions/runner.ts'
import { JsonText } from '../../functions/src/json/json-text.ts'
import { tool } from './definition-changes.ts'
import { readingRunner } from './reading-runner.ts'
import type { Asked, Asker } from './route-service.ts'

/** A request whose handler makes its own turns, and the files of `functions/src` that do so for it. */
export type InTurns = {
  readonly files: readonly string[]
  readonly who?: Asker
  /** `{revision}` stands for the revision of the user's list before the first request. */
  readonly request: string
  /** In a body that is an object, `{artifact}` stands for the id of an artifact of the user with ARTIFACT_TEXT. */
  readonly asked?: Asked
}

/** The definitions of the user who sends the requests. Their names need a hash for their alias. */
export const OWN_TOOLS = Array.from({ length: 120 }, (_, at): ToolDefinition => {
  const words = ['weather', 'mail', 'files', 'calendar'][at % 4] ?? ''
  return tool(`tool:${at}:${'n'.repeat(110)}`, `Works with ${words}. ${'It does it very well. '.repeat(20)}`)
})

const [{ function: { name: NAME } } = tool('none')] = OWN_TOOLS
const MODULE = Array.from({ length: 20 }, (_, at) => `"long:f${at}"`).join('\n')
const USES = Array.from({ length: 20 }, (_, at) => ({
  type: 'tool_use',
  id: `c${at}`,
  name: `nobody_${at}`,
  input: { text: 'x'.repeat(2_000) },
}))
const RULES = {
  default: 'allow',
  rules: Array.from({ length: 20 }, (_, at) => ({ effect: 'deny', tool: `tool:${119 - at}*:n*` })),
}
const LAYERS = [{ name: 'system', text: 'Be kind. '.repeat(2_000), priority: 0 }]

/** The value of the secret of `SECRETIVE`. Its spellings take several pieces. */
export const SECRET = 'long and secret '.repeat(4_000)

/** A tool of a module that gets a secret. */
export const SECRETIVE: ToolDefinition = {
  ...tool('web:get'),
  runner: { kind: 'python', module: 'web', sha256: '0'.repeat(64), secrets: ['API_KEY'] },
}

/** A text whose search takes several pieces. */
export const ARTIFACT_TEXT = `${'x'.repeat(5_000)}y\n`.repeat(3)

/** A runner whose calls yield and return the secret, much other text, and a file of other bytes. */
export function secretiveRunner(): Runner {
  const json = JSON.stringify(['y'.repeat(100_000), SECRET])
  return {
    ...readingRunner(),
    async invoke({ listen }) {
      await listen?.({ type: 'value', value: new JsonText(json) })
      const usage = { wallMs: 1, cpuMs: 1, maxRssBytes: 1 }
      const made = [
        { type: 'file', mimeType: 'text/plain', name: 'a.bin', bytes: Buffer.alloc(90_000, 0xff) },
      ] as const
      return { json, made, isolation: 'L2', usage, log: { text: '', truncated: false } }
    },
  }
}

/** In the order in which they are sent. */
export const IN_REQUESTS: readonly InTurns[] = [
  {
    files: ['catalog/views/layer-cache.ts', 'features/list/list-tools.ts'],
    request: 'GET /tools/list?dialect=anthropic',
  },
  { files: ['features/list/list-tools.ts'], request: 'GET /tools/list?scope=tool:*,!*7*,nothing' },
  { files: ['features/list/list-budget.ts'], request: 'GET /tools/list?dialect=openai&budget=3000' },
  { files: ['features/list/list-budget.ts'], request: 'GET /tools/list?tokens=1&envelope=items' },
  { files: ['catalog/search/tool-search.ts'], request: 'GET /tools/list?q=send+a+mail' },
  {
    files: ['features/list/list-tools.ts'],
    request: `GET /tools/explain?name=${NAME}&budget=3000&q=weather&scope=tool:*`,
  },
  {
    files: ['features/wrap/wrap-route.ts'],
    request: 'POST /tools/wrap',
    asked: {
      body: { targetTokens: 3_000, dialect: 'anthropic', scope: 'tool:*', guide: true, layers: LAYERS },
    },
  },
  {
    files: ['features/scopes/scope-routes.ts'],
    request: 'PUT /scopes/room/r',
    asked: { body: { scope: 'tool:*,nothing' } },
  },
  {
    files: ['features/scopes/scope-routes.ts'],
    request: 'POST /scopes/room/r/commands',
    asked: { body: { text: '/tools' } },
  },
  {
    files: ['features/scopes/scope-routes.ts'],
    request: 'POST /scopes/room/r/commands',
    asked: { body: { text: '/tools off' } },
  },
  { files: ['features/rules/rule-routes.ts'], request: 'PUT /rules/user/ann', asked: { body: RULES } },
  { files: ['features/changes/changes-route.ts'], request: 'GET /tools/changes?since={revision}' },
  {
    files: ['http/bodies-in-flight.ts', 'catalog/definitions/definition-writer.ts'],
    request: 'POST /tools/defs',
    asked: { body: OWN_TOOLS.slice(0, 60).map((one) => ({ ...one, category: 'other' })) },
  },
  { files: ['http/send-json.ts'], request: 'GET /tools/defs' },
  {
    files: ['catalog/definitions/admit-module.ts', 'catalog/definitions/module-writer.ts'],
    request: 'PUT /tools/modules/long',
    asked: { body: MODULE },
  },
  { files: ['features/calling/dispatcher.ts'], request: 'POST /tools/dispatch', asked: { body: USES } },
  // The counts of a user with requests would depend on when they were last written, which is by the clock.
  { files: ['features/statistics/statistics-routes.ts'], who: 'bob', request: 'GET /tools/stats' },
  { files: ['features/audit/audit-routes.ts'], who: 'admin', request: 'GET /audit/verify' },
  { files: ['features/grants/grant-routes.ts'], who: 'admin', request: 'GET /tools/grants' },
  {
    files: [
      'features/secrets/load-secrets.ts',
      'calls/pipeline/run-tool.ts',
      'features/artifacts/keep-content.ts',
    ],
    request: 'POST /tools/invoke',
    asked: { body: { name: SECRETIVE.function.name, arguments: { text: 'x'.repeat(90_000) } } },
  },
  {
    files: ['calls/pipeline/filtered-events.ts'],
    request: 'POST /tools/invoke',
    asked: {
      body: { name: SECRETIVE.function.name, arguments: {} },
      headers: { Accept: 'text/event-stream' },
    },
  },
  {
    files: ['features/artifacts/artifact-reader.ts'],
    request: 'POST /tools/invoke',
    asked: { body: { name: 'read_artifact', arguments: { id: '{artifact}', search: 'xy' } } },
  },
]
