import Anthropic from '@anthropic-ai/sdk'
import type { MessageParam, Tool as AnthropicTool } from '@anthropic-ai/sdk/resources/messages'
import { GoogleGenAI, mcpToTool } from '@google/genai'
import type { Content, Tool as GeminiTool } from '@google/genai'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { Server as McpServer } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  ListToolsResultSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { Dialect, InvocationResult, JsonObject, JsonValue } from '@toolrack/contract'
import OpenAI from 'openai'
import type {
  ChatCompletionFunctionTool,
  ChatCompletionMessageParam,
  ChatCompletionTool,
} from 'openai/resources/chat/completions'
import type { FunctionTool, ResponseInput } from 'openai/resources/responses/responses'
import { ScriptedVendor } from '../support/scripted-vendor.ts'
import { FileLayer } from '../../functions/src/stores/files/file-layer.ts'
import { inProcess } from '../support/in-process.ts'

/** The service with the definitions that it ships, and with one user. */
const service = await inProcess(
  {
    authenticate: () => Promise.resolve({ kind: 'user', uid: 'ann', isAdmin: false }),
    signJobToken: undefined,
  },
  [],
  Date.now,
  {
    files: (compilers) =>
      new FileLayer('functions/workflows/tools/defs', compilers, {
        ownFolder: 'functions/workflows/tools/own',
      }),
  },
)
afterAll(() => service[Symbol.asyncDispose]())

function send(path: string, body?: unknown): Promise<Response> {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  return fetch(`${service.url}/workflows/tools${path}`, init)
}

/** A tool that the service runs, with a name that only Gemini takes as it is, and an optional parameter. */
const ECHO = {
  type: 'function',
  function: {
    name: 'voice:echo',
    description: 'Gives back what it hears.',
    parameters: {
      type: 'object',
      properties: { text: { type: 'string' }, volume: { type: 'integer', default: 5 } },
      required: ['text'],
    },
  },
  runner: { kind: 'builtin', builtin: 'echo' },
}

/** Nobody's vendor takes it: in the list it would cost every other tool. */
const UNSAYABLE = {
  name: 'unsayable',
  description: 'U.',
  parameters: { type: 'object', properties: { 'a b': { type: 'string' } }, oneOf: [{ required: ['a b'] }] },
}

beforeAll(async () => {
  expect((await send('/defs?layer=user', [ECHO, UNSAYABLE])).status).toBe(200)
})

async function listIn<Tool>(dialect: Dialect): Promise<Tool[]> {
  const answer = await send(`/list?dialect=${dialect}`)
  const left = dialect === 'mcp' ? null : 'unsayable'
  expect([answer.status, answer.headers.get('x-tools-quarantined')]).toEqual([200, left])
  return (await answer.json()) as Tool[]
}

/** The messages to append, as dispatch answers them to what the model has said. */
async function dispatched<Message>(said: unknown): Promise<Message[]> {
  const answer = await send('/dispatch', said)
  const { messages, results } = (await answer.json()) as {
    messages: Message[]
    results: { result: InvocationResult }[]
  }
  expect(results.map(({ result }) => [result.resultType, result.meta.tool])).toEqual([
    ['success', 'voice:echo'],
  ])
  return messages
}

/** What the vendor was sent with both requests, as JSON that its own tools field took. */
function sentBy(vendor: ScriptedVendor, path: RegExp): readonly [JsonObject, JsonObject] {
  const [first, second, ...more] = vendor.asked
  if (!first || !second || more.length > 0) throw new Error(`it was asked ${vendor.asked.length} times`)
  expect([first.path, second.path]).toEqual([expect.stringMatching(path), expect.stringMatching(path)])
  return [first.body, second.body]
}

function completion(message: JsonObject): JsonValue {
  const choice = { index: 0, finish_reason: message['tool_calls'] ? 'tool_calls' : 'stop', logprobs: null }
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'scripted',
    choices: [{ ...choice, message: { role: 'assistant', content: null, refusal: null, ...message } }],
  }
}

test.each([
  ['openai', { text: 'Hear me.' }],
  ['openai-strict', { text: 'Hear me.', volume: null }],
] as const)(
  'the OpenAI SDK takes the list in the dialect %s, and a call goes through it',
  async (dialect, args) => {
    const call = { name: 'voice__echo', arguments: JSON.stringify(args) }
    await using vendor = await ScriptedVendor.start([
      completion({ tool_calls: [{ id: 'call_1', type: 'function', function: call }] }),
      completion({ content: 'It said: Hear me.' }),
    ])
    const client = new OpenAI({ apiKey: 'none', baseURL: `${vendor.origin}/v1`, maxRetries: 0 })
    const tools = await listIn<ChatCompletionTool>(dialect)
    const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: 'Echo.' }]

    const first = await client.chat.completions.create({ model: 'scripted', messages, tools })
    const said = first.choices[0]?.message
    if (!said) throw new Error('the model has said nothing')
    messages.push(said, ...(await dispatched<ChatCompletionMessageParam>(said)))
    const second = await client.chat.completions.create({ model: 'scripted', messages, tools })

    expect(second.choices[0]?.message.content).toBe('It said: Hear me.')
    const [asked, again] = sentBy(vendor, /^\/v1\/chat\/completions$/)
    expect([asked['tools'], again['tools']]).toEqual([tools, tools])
    expect((again['messages'] as JsonValue[]).at(-1)).toEqual({
      role: 'tool',
      tool_call_id: 'call_1',
      content: 'Hear me.',
    })
  },
)

test("the OpenAI SDK takes the list's functions in its old field, and an old function call goes through it", async () => {
  await using vendor = await ScriptedVendor.start([
    completion({ function_call: { name: 'voice__echo', arguments: '{"text":"Hear me."}' } }),
    completion({ content: 'It said: Hear me.' }),
  ])
  const client = new OpenAI({ apiKey: 'none', baseURL: `${vendor.origin}/v1`, maxRetries: 0 })
  const tools = await listIn<ChatCompletionFunctionTool>('openai')
  const functions = tools.map((tool) => tool.function)
  const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: 'Echo.' }]

  const first = await client.chat.completions.create({ model: 'scripted', messages, functions })
  const said = first.choices[0]?.message
  if (!said) throw new Error('the model has said nothing')
  messages.push(said, ...(await dispatched<ChatCompletionMessageParam>(said)))
  const second = await client.chat.completions.create({ model: 'scripted', messages, functions })

  expect(second.choices[0]?.message.content).toBe('It said: Hear me.')
  const [, again] = sentBy(vendor, /^\/v1\/chat\/completions$/)
  expect((again['messages'] as JsonValue[]).at(-1)).toEqual({
    role: 'function',
    name: 'voice__echo',
    content: 'Hear me.',
  })
})

const response = (output: JsonValue) => ({ id: 'resp_1', object: 'response', status: 'completed', output })

test('the OpenAI SDK takes the list in the dialect openai-responses, and a call goes through it', async () => {
  const call = {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'call_1',
    name: 'voice__echo',
    status: 'completed',
  }
  const said = { type: 'output_text', text: 'It said: Hear me.', annotations: [] }
  await using vendor = await ScriptedVendor.start([
    response([{ ...call, arguments: '{"text":"Hear me."}' }]),
    response([{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [said] }]),
  ])
  const client = new OpenAI({ apiKey: 'none', baseURL: `${vendor.origin}/v1`, maxRetries: 0 })
  const tools = await listIn<FunctionTool>('openai-responses')
  const input: ResponseInput = [{ role: 'user', content: 'Echo.' }]

  const first = await client.responses.create({ model: 'scripted', input, tools })
  input.push(...(first.output as ResponseInput), ...(await dispatched<ResponseInput[number]>(first)))
  const second = await client.responses.create({ model: 'scripted', input, tools })

  expect(second.output_text).toBe('It said: Hear me.')
  const [asked, again] = sentBy(vendor, /^\/v1\/responses$/)
  expect([asked['tools'], again['tools']]).toEqual([tools, tools])
  expect((again['input'] as JsonValue[]).at(-1)).toEqual({
    type: 'function_call_output',
    call_id: 'call_1',
    output: 'Hear me.',
  })
})

const message = (content: JsonValue, reason: string) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'scripted',
  stop_reason: reason,
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
  content,
})

test('the Anthropic SDK takes the list in its dialect, and a call goes through it', async () => {
  const call = { type: 'tool_use', id: 'toolu_1', name: 'voice__echo', input: { text: 'Hear me.' } }
  await using vendor = await ScriptedVendor.start([
    message([{ type: 'text', text: 'I echo.' }, call], 'tool_use'),
    message([{ type: 'text', text: 'It said: Hear me.' }], 'end_turn'),
  ])
  const client = new Anthropic({ apiKey: 'none', baseURL: vendor.origin, maxRetries: 0 })
  const tools = await listIn<AnthropicTool>('anthropic')
  const messages: MessageParam[] = [{ role: 'user', content: 'Echo.' }]

  const first = await client.messages.create({ model: 'scripted', max_tokens: 100, messages, tools })
  messages.push({ role: 'assistant', content: first.content }, ...(await dispatched<MessageParam>(first)))
  const second = await client.messages.create({ model: 'scripted', max_tokens: 100, messages, tools })

  expect(second.content).toEqual([{ type: 'text', text: 'It said: Hear me.' }])
  const [asked, again] = sentBy(vendor, /^\/v1\/messages$/)
  expect([asked['tools'], again['tools']]).toEqual([tools, tools])
  expect((again['messages'] as JsonValue[]).at(-1)).toEqual({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'Hear me.' }],
  })
})

const candidate = (part: JsonValue) => ({ candidates: [{ content: { role: 'model', parts: [part] } }] })

test('the Google SDK takes the list in the dialect gemini, and a call goes through it', async () => {
  await using vendor = await ScriptedVendor.start([
    candidate({ functionCall: { name: 'voice:echo', args: { text: 'Hear me.' } } }),
    candidate({ text: 'It said: Hear me.' }),
  ])
  // Named, for what the SDK looks for beside the global fetch is not in the global object of a test.
  const client = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: vendor.origin, fetch } })
  const tools = await listIn<GeminiTool>('gemini')
  const contents: Content[] = [{ role: 'user', parts: [{ text: 'Echo.' }] }]

  const first = await client.models.generateContent({ model: 'scripted', contents, config: { tools } })
  const said = first.candidates?.[0]?.content
  if (!said) throw new Error('the model has said nothing')
  contents.push(said, ...(await dispatched<Content>(said)))
  const second = await client.models.generateContent({ model: 'scripted', contents, config: { tools } })

  expect(second.text).toBe('It said: Hear me.')
  const [asked, again] = sentBy(vendor, /models\/scripted:generateContent$/)
  expect([asked['tools'], again['tools']]).toEqual([tools, tools])
  expect((again['contents'] as JsonValue[]).at(-1)).toEqual({
    role: 'user',
    parts: [{ functionResponse: { name: 'voice:echo', response: { output: 'Hear me.' } } }],
  })
})

/** A client of MCP's SDK at a server of it, which lists and calls what the service does. */
async function mcpClient(): Promise<Client> {
  const server = new McpServer({ name: 'toolrack', version: '0' }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, async () =>
    ListToolsResultSchema.parse({ tools: await listIn('mcp') }),
  )
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const call = { type: 'tool_use', id: 'mcp', name: params.name, input: params.arguments ?? {} }
    const [message] = await dispatched<{ content: { content: string }[] }>([call])
    return { content: [{ type: 'text', text: message?.content[0]?.content ?? '' }] }
  })
  const client = new Client({ name: 'test', version: '0' })
  const [near, far] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(far), client.connect(near)])
  return client
}

test("MCP's SDK takes the list in its dialect, and a call goes through it", async () => {
  const client = await mcpClient()
  const { tools } = await client.listTools()
  expect(tools).toEqual(await listIn('mcp'))
  expect(tools.find(({ name }) => name === 'voice__echo')).toHaveProperty(
    ['_meta', 'toolrack/name'],
    'voice:echo',
  )
  const result = await client.callTool({ name: 'voice__echo', arguments: { text: 'Hear me.' } })
  expect(result.content).toEqual([{ type: 'text', text: 'Hear me.' }])
  await client.close()
})

test("Google's SDK takes the tools of MCP's client as it takes them from the list", async () => {
  const client = await mcpClient()
  const tool = await mcpToTool(client).tool()
  const aliases = (tool.functionDeclarations ?? []).map(({ name }) => name)
  expect(aliases).toContain('voice__echo')
  await client.close()
})
