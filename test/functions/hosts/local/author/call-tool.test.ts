import { expect, test } from '@jest/globals'
import { admitModule } from '../../../../../functions/src/catalog/definitions/admit-module.ts'
import type {
  RunnerCall,
  RunnerEvent,
  RunnerOutcome,
} from '../../../../../functions/src/catalog/definitions/runner.ts'
import type { CallEvent } from '../../../../../functions/src/calls/call.ts'
import { jsonOf } from '../../../../../functions/src/json/json-text.ts'
import { callTool } from '../../../../../functions/src/hosts/local/author/call-tool.ts'
import { readingRunner } from '../../../../support/reading-runner.ts'

const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const callLimits = { deadlineMs: 10_000, memoryBytes: 2 ** 28 }
const SECRET = 'sk-canary/"7f3'
const DONE = {
  isolation: 'L4',
  usage: { cpuMs: 1, maxRssBytes: 1, wallMs: 1 },
  log: { text: '', truncated: false },
} as const

const compiler = { compile: () => Promise.resolve({ faults: [], unenforced: [] }) }
const module = await admitModule(
  { name: 'mail', source: Buffer.from('"mail:send"'), tenant: 'local' },
  { runner: readingRunner(), compiler },
)

/** Calls the tool with a secret, in a runner that tells these events and this outcome. */
async function called(events: readonly RunnerEvent[], outcome: object) {
  const heard: CallEvent[] = []
  let sent: RunnerCall | undefined
  const runner = {
    ...readingRunner(),
    async invoke(call: RunnerCall) {
      sent = call
      for (const event of events) await call.listen?.(event)
      return { ...DONE, ...outcome } as unknown as RunnerOutcome
    },
  }
  const { result, log: printed } = await callTool({ runner, log, callLimits }, module, {
    name: 'mail:send',
    arguments: {},
    context: {},
    secrets: new Map([['API_KEY', SECRET]]),
    deadlineMs: undefined,
    listen: (event) => void heard.push(event),
  })
  return { shown: jsonOf({ result, log: printed }), heard, sent }
}

test('the handler finds the values in its context', async () => {
  const { sent } = await called([], { text: 'ok' })
  expect(sent?.context).toMatchObject({ secrets: { API_KEY: SECRET } })
})

test.each([
  ['a result', { text: `<${SECRET}>` }],
  ['JSON', { json: JSON.stringify({ key: SECRET }) }],
  ['an error', { code: 'TOOL_RAISED', error: `ValueError: ${SECRET}` }],
  ['a log', { text: '', log: { text: `${SECRET}\n`, truncated: false } }],
  ['base64', { text: Buffer.from(SECRET).toString('base64') }],
  ['a URL', { text: `https://a.example/?key=${encodeURIComponent(SECRET)}` }],
])('%s does not contain the value', async (_where, outcome) => {
  const { shown } = await called([], outcome)
  expect(shown).toContain('[redacted]')
  expect(shown).not.toContain('canary')
})

test('prints and progress do not contain the value, also if it is split over two prints', async () => {
  const { heard } = await called(
    [
      { type: 'log', text: `key: ${SECRET.slice(0, 6)}` },
      { type: 'log', text: `${SECRET.slice(6)} end\nlast` },
      { type: 'progress', fraction: 0.5, text: `with ${SECRET}` },
    ],
    { text: 'ok' },
  )
  const said = heard.map((event) => ('text' in event ? event.text : '')).join('|')
  expect(said).toMatch(/\[redacted\] end\n\|with \[redacted\]\|last$/)
  expect(said).not.toContain('canary')
})
