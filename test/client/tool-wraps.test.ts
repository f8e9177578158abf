import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals'
import type { ToolDefinition } from '@toolrack/contract'
import { tokenCounter } from '../../functions/src/catalog/tokens/token-counter.ts'
import { estimateTokens, ToolDefs, ToolWraps, type Prompt } from '../../packages/client/src/index.ts'
import { bfclDefinitions } from '../support/bfcl-definitions.ts'
import { inProcess } from '../support/in-process.ts'
import { json, ScriptedServer } from '../support/scripted-server.ts'
import { NOW, signed } from '../support/signed-tokens.ts'
import { deployedAccess, FIREBASE } from '../support/token-kinds.ts'
import { listAnswer, listed, refusal } from './scripted-service.ts'

const definition = (name: string): ToolDefinition => {
  const parameters = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] }
  return {
    type: 'function',
    function: { name, description: `Does ${name}. Well.`, parameters },
    category: name.slice(0, 3),
  }
}
const files = ['aaa_one', 'aaa_two', 'web_search'].map(definition)
const service = await inProcess(
  deployedAccess(() => NOW),
  files,
  () => NOW,
)
afterAll(() => service[Symbol.asyncDispose]())
const token = signed(FIREBASE, { sub: 'ann' })
const count = await tokenCounter()

let server: ScriptedServer
beforeEach(async () => (server = await ScriptedServer.start()))
afterEach(() => server[Symbol.asyncDispose]())

const away = refusal(503, 'STORE_FAILED', 'No.')
const outcomes = ({ bill }: Prompt<object>) => bill.layers.map(({ name, outcome }) => `${name} ${outcome}`)
const never = () => new Promise<string>(() => undefined)
const gone = (options = {}) => new ToolWraps({ service: 'http://127.0.0.1:1', token: 't', ...options })

test('the service composes a prompt', async () => {
  const { wrap } = new ToolWraps({ service: service.url, token })
  const prompt = await wrap(4_000)
    .system('Be kind.')
    .tools('@aaa')
    .layer('history', 'You said hello.', 90)
    .build({ dialect: 'openai', guide: true })
  expect(prompt.text).toMatch(/^Be kind\.\n\n## Your functions\n\n- \*\*aaa_one.*\n.*\n\nYou said hello\.$/)
  expect(prompt.text).toBe(`${prompt.system}\n\n${prompt.context}`)
  expect(prompt.system).toBe('Be kind.')
  expect(prompt.tools.map((tool) => tool.function.name)).toEqual(['aaa_one', 'aaa_two'])
  expect(prompt).toMatchObject({ source: 'service', reason: null, bill: { estimated: false } })
  expect(prompt.bill.total).toBe(count(prompt.text) + count(JSON.stringify(prompt.tools)))
})

test('a prompt without tools has none, and one with tools() has all', async () => {
  const { wrap } = new ToolWraps({ service: service.url, token })
  const begun = wrap(4_000).system('Be kind.')
  expect((await begun.build()).tools).toEqual([])
  expect((await begun.tools().build()).tools).toHaveLength(3)
  const searching = await begun.tools('@aaa').build({ with: 'search', loaded: ['web_search'] })
  expect(searching).toMatchObject({ source: 'service', tools: [{}, {}] })
  await expect(begun.tools('').build()).rejects.toMatchObject({ code: 'SERVICE_REFUSED' })
})

test('what the service refuses is thrown with its code', async () => {
  const { wrap } = new ToolWraps({ service: service.url, token })
  const twice = wrap(10).layer('a', 'x', 1).layer('a', 'y', 1)
  await expect(twice.build()).rejects.toMatchObject({ code: 'SERVICE_REFUSED', reason: 'BODY_INVALID' })
  expect(() => wrap(1.5)).toThrow('targetTokens')
  expect(() => wrap(-1)).toThrow('targetTokens')
})

test.each([undefined, 'openai', 'openai-responses', 'anthropic', 'gemini', 'mcp'] as const)(
  'without the service, the client composes exactly what a given counter counts, in the dialect %s',
  async (dialect) => {
    const defs = new ToolDefs({ service: 'http://127.0.0.1:1', token: 't', fallback: files })
    const { wrap } = gone({ countTokens: count, defs })
    for (const targetTokens of [0, 5, 50, 150, 300, 4_000]) {
      const prompt = await wrap(targetTokens)
        .system('Be kind.')
        .tools('@aaa')
        .layer('history', 'You said hello. So did I.', 90)
        .build({ dialect, guide: true })
      const { total } = prompt.bill
      const ofTools = prompt.tools.length === 0 ? 0 : count(JSON.stringify(prompt.tools))
      expect(total).toBe(count(prompt.text) + ofTools)
      expect(total).toBeLessThanOrEqual(targetTokens)
      expect(prompt).toMatchObject({ source: 'local', bill: { estimated: false } })
      if (targetTokens === 4_000)
        expect(prompt.text).toBe(
          'Be kind.\n\n## Your functions\n\n- **aaa_one**(query): Does aaa_one.\n- **aaa_two**(query): Does aaa_two.\n\nYou said hello. So did I.',
        )
    }
  },
)

test('without the service and a counter, the tokens are an estimate above what they are', async () => {
  const { wrap } = gone()
  const prompt = await wrap(8_000).system('Be kind.').tools().build({ model: 'gpt-4o' })
  expect(prompt).toMatchObject({ source: 'local', reason: { code: 'NETWORK' }, bill: { estimated: true } })
  const { total, tools } = prompt.bill
  expect(prompt.tools).toHaveLength(tools.full)
  expect(tools.full).toBeGreaterThan(0)
  expect(tools.dropped).toBeGreaterThan(0)
  expect(total).toBeLessThanOrEqual(8_000)
  expect(total).toBeGreaterThan(count(prompt.text) + count(JSON.stringify(prompt.tools)))
})

test('the estimate is above the encoder for real tools and for texts in several scripts', () => {
  const texts = bfclDefinitions('definitions').map((tool) => JSON.stringify(tool))
  const others = [
    'The quick brown fox.',
    '今日は天気がいいですね。',
    'Привет, как дела?',
    'const a = (b) => b + 1',
  ]
  for (const one of [...texts, ...others]) expect(estimateTokens(one)).toBeGreaterThanOrEqual(count(one))
})

test('a service that goes away leaves the list that was remembered for the same scope', async () => {
  const answer = { text: 'x', tools: [], bill: { total: 1, layers: [], tools: {} } }
  const list = listAnswer([listed('WEB')])
  server.answers = [(req, res) => (req.url?.endsWith('/wrap') ? json(answer) : list)(req, res)]
  const defs = new ToolDefs({ service: server.origin, token: 't' })
  const { wrap } = new ToolWraps({ service: server.origin, token: 't', defs })
  const asked = wrap(400).system('Be kind.').tools('@web')
  expect(await asked.build()).toMatchObject({ text: 'x', source: 'service' })
  // The list that the prompt has asked for, or the same one again.
  await defs.list({ scope: '@web' })
  server.answers = [away]
  const prompt = await asked.build()
  expect(prompt).toMatchObject({ text: 'Be kind.', source: 'remembered', reason: { code: 'FAILED' } })
  expect(outcomes(prompt)).toEqual(['system whole', 'tools whole'])
})

test('without the service, an unknown session, a stored scope and a bad layer are errors', async () => {
  const tools = gone().wrap(400).tools('ref:room/kitchen')
  await expect(tools.build()).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  const all = gone().wrap(400).tools()
  await expect(all.build({ session: 's' })).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  const bad = gone().wrap(400).layer('a', 'x', 1.5)
  await expect(bad.build()).rejects.toMatchObject({ code: 'OPTION_INVALID' })
})

test('a prompt does not wait longer than its deadline or its signal for a token that never comes', async () => {
  const late = gone({ token: never, deadlineMs: 50 }).wrap(100).build()
  await expect(late).rejects.toMatchObject({ code: 'TOKEN_FAILED' })
  const leaving = new AbortController()
  const left = gone({ token: never }).wrap(100).build({ signal: leaving.signal })
  leaving.abort(new Error('left'))
  await expect(left).rejects.toThrow('left')
})
