import type {
  ContentBlockParam,
  MessageParam,
  ToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/messages'
import type { Content } from '@google/genai'
import { afterAll, expect, test } from '@jest/globals'
import type { JsonObject, ToolDefinition } from '@toolrack/contract'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import type { MadeContent, RunnerOutcome } from '../../../../functions/src/catalog/definitions/runner.ts'
import { ArtifactFiles } from '../../../../functions/src/stores/files/artifact-files.ts'
import { anthropic, chat, gemini, responses } from '../../../client/calls.ts'
import { askingRunner } from '../../../support/asking-runner.ts'
import { randomPng } from '../../../support/png.ts'
import { routeService } from '../../../support/route-service.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const PNG = randomPng(316)
const DATA = PNG.toString('base64')

const PLOT = {
  type: 'function',
  function: { name: 'maker:plot', description: 'Plots.', parameters: { type: 'object', properties: {} } },
  runner: { kind: 'python', module: 'maker', sha256: 'a'.repeat(64) },
} as unknown as ToolDefinition

const folder = temporaryFolder()
afterAll(() => folder[Symbol.dispose]())
let made: readonly MadeContent[] = []
const ask = await routeService([PLOT], {
  artifactBytes: new ArtifactFiles(folder.path),
  runner: {
    ...askingRunner(),
    invoke() {
      const log = { text: '', truncated: false }
      const usage = { cpuMs: 1, wallMs: 1, maxRssBytes: 1 }
      const outcome: RunnerOutcome = { isolation: 'L2', usage, log, json: '{"image":1}', made }
      return Promise.resolve(outcome)
    },
  },
})

function image(bytes: Uint8Array = PNG): MadeContent {
  return { type: 'image', mimeType: 'image/png', name: 'chart.png', bytes }
}

async function dispatch(call: object, query = ''): Promise<{ messages: JsonObject[]; results: unknown }> {
  const { status, body } = await ask('ann', `POST /tools/dispatch${query}`, { body: [call] })
  expect(status).toBe(200)
  return body as unknown as { messages: JsonObject[]; results: unknown }
}

test("a PNG of 300 kB is in the messages for four vendors, once, in each vendor's own block or a sentence", async () => {
  made = [image()]
  const name = 'maker__plot'
  const { messages: toAnthropic } = await dispatch(anthropic('c', name, {}))
  const [{ content } = { content: '' }] = toAnthropic as unknown as MessageParam[]
  const [answer] = content as ContentBlockParam[]
  const [text, block] = (answer as ToolResultBlockParam).content as ContentBlockParam[]
  expect(block).toEqual({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: DATA } })
  expect(JSON.stringify(text)).toMatch(/is the artifact [0-9a-f-]{36}: image 1 after this text\./)

  const { messages: toResponses } = await dispatch(responses('c', name, {}))
  const [item] = toResponses as unknown as ResponseInputItem.FunctionCallOutput[]
  expect(item?.output[1]).toEqual({ type: 'input_image', image_url: `data:image/png;base64,${DATA}` })

  const { messages: toGemini } = await dispatch(gemini('c', 'maker:plot', {}))
  const [{ parts } = {}] = toGemini as unknown as Content[]
  expect(parts?.[0]?.functionResponse?.parts).toEqual([{ inlineData: { mimeType: 'image/png', data: DATA } }])

  const { messages: toChat } = await dispatch(chat('c', name, {}))
  expect(toChat).toEqual([
    {
      role: 'tool',
      tool_call_id: 'c',
      content: expect.stringMatching(/is the artifact .*You do not see it here\.$/),
    },
  ])

  const sizes = [toAnthropic, toResponses, toGemini, toChat].map(
    (messages) => JSON.stringify(messages).length,
  )
  const extra = sizes.map((size, at) => size - (at === 3 ? 0 : DATA.length))
  expect(DATA.length).toBe(Math.ceil(PNG.length / 3) * 4)
  for (const more of extra) expect(more).toBeLessThan(450)
})

test('with images=0 the messages have sentences, and results never have the bytes', async () => {
  made = [image()]
  const { messages, results } = await dispatch(anthropic('c', 'maker__plot', {}), '?images=0')
  expect(JSON.stringify(messages)).toContain('You do not see it here.')
  expect(JSON.stringify([messages, results]).length).toBeLessThan(2_000)
  const shown = await dispatch(anthropic('c', 'maker__plot', {}), '?images=1')
  expect(JSON.stringify(shown.messages)).toContain(DATA)
  expect(JSON.stringify(shown.results).length).toBeLessThan(2_000)
  const { status } = await ask('ann', 'POST /tools/dispatch?images=all', {
    body: [anthropic('c', 'maker__plot', {})],
  })
  expect(status).toBe(400)
})
