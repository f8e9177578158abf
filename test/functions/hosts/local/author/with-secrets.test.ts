import { expect, test } from '@jest/globals'
import type {
  RunnerCall,
  RunnerEvent,
  RunnerOutcome,
} from '../../../../../functions/src/catalog/definitions/runner.ts'
import { withSecrets } from '../../../../../functions/src/hosts/local/author/with-secrets.ts'
import { CALL } from '../../../../support/runner-call.ts'

const SECRET = 'sk-canary/"7f3'
const DONE = { isolation: 'L4', usage: { cpuMs: 1, maxRssBytes: 1, wallMs: 1 } } as const

/** Invokes a runner that tells these events and this outcome. */
async function invoked(events: readonly RunnerEvent[], outcome: Omit<RunnerOutcome, 'isolation' | 'usage'>) {
  const heard: RunnerEvent[] = []
  let sent: RunnerCall | undefined
  const runner = withSecrets(
    {
      async invoke(call) {
        sent = call
        for (const event of events) await call.listen?.(event)
        return { ...DONE, ...outcome } as RunnerOutcome
      },
    },
    new Map([['API_KEY', SECRET]]),
  )
  const listen = (event: RunnerEvent): undefined => void heard.push(event)
  const ended = await runner.invoke({ ...CALL, listen })
  return { ended, heard, sent }
}

test('the handler finds the values in its context', async () => {
  const { sent } = await invoked([], { text: 'ok', log: { text: '', truncated: false } } as never)
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
  const { ended } = await invoked([], outcome as never)
  expect(JSON.stringify(ended)).toContain('[redacted]')
  expect(JSON.stringify(ended)).not.toContain('canary')
})

test('prints and progress do not contain the value, also if it is split over two prints', async () => {
  const { heard } = await invoked(
    [
      { type: 'log', text: `key: ${SECRET.slice(0, 6)}` },
      { type: 'log', text: `${SECRET.slice(6)} end\nlast` },
      { type: 'progress', fraction: 0.5, text: `with ${SECRET}` },
    ],
    { text: 'ok' } as never,
  )
  const said = heard.map((event) => ('text' in event ? event.text : '')).join('|')
  expect(said).toMatch(/\[redacted\] end\n\|with \[redacted\]\|last$/)
  expect(said).not.toContain('canary')
})
