import type { MessageParam, Tool as AnthropicTool } from '@anthropic-ai/sdk/resources/messages'
import type { Content, Tool as GeminiTool } from '@google/genai'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { ListToolsResult } from '@modelcontextprotocol/sdk/types.js'
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions'
import type { FunctionTool, ResponseInputItem } from 'openai/resources/responses/responses'
import { ToolDefs, ToolDispatcher } from '../../packages/client/src/index.ts'
import { Server } from '../support/server.ts'
import { anthropic, chat, functionCall, gemini, responses } from './calls.ts'

let server: Server
beforeAll(async () => (server = await Server.start()))
afterAll(() => server[Symbol.asyncDispose]())

const names = ['ECHO', 'READ_FILE']

/** That it compiles is half of the test: nothing is cast. */
test("what is listed is what the types of each vendor's SDK take, from the service and from within", async () => {
  for (const service of [server.url, 'http://127.0.0.1:1']) {
    const defs = new ToolDefs({ service, token: server.token })
    const plain: ChatCompletionTool[] = (await defs.list({ names })).tools
    const openai: ChatCompletionTool[] = (await defs.list({ names, dialect: 'openai' })).tools
    const strict: ChatCompletionTool[] = (await defs.list({ names, dialect: 'openai-strict' })).tools
    const items: FunctionTool[] = (await defs.list({ names, dialect: 'openai-responses' })).tools
    const messages: AnthropicTool[] = (await defs.list({ names, dialect: 'anthropic' })).tools
    const declared: GeminiTool[] = (await defs.list({ names, dialect: 'gemini' })).tools
    const mcp: ListToolsResult['tools'] = (await defs.list({ names, dialect: 'mcp' })).tools
    const count = service === server.url ? 2 : 1
    for (const tools of [plain, openai, strict, items, messages, mcp]) expect(tools).toHaveLength(count)
    expect(declared[0]?.functionDeclarations).toHaveLength(count)
  }
})

test("what is to be appended is what the types of each vendor's SDK take", async () => {
  const dispatcher = new ToolDispatcher({ service: server.url, token: server.token })
  const text = { text: 'hi' }
  const toChat: ChatCompletionMessageParam[] = []
  toChat.push(...(await dispatcher.dispatch<ChatCompletionMessageParam>([chat('c', 'ECHO', text)])).messages)
  const old = functionCall('ECHO', text)
  toChat.push(...(await dispatcher.dispatch<ChatCompletionMessageParam>([old])).messages)
  const toResponses: ResponseInputItem[] = []
  toResponses.push(...(await dispatcher.dispatch<ResponseInputItem>([responses('c', 'ECHO', text)])).messages)
  const toAnthropic: MessageParam[] = []
  toAnthropic.push(...(await dispatcher.dispatch<MessageParam>([anthropic('c', 'ECHO', text)])).messages)
  const toGemini: Content[] = []
  toGemini.push(...(await dispatcher.dispatch<Content>([gemini(undefined, 'ECHO', text)])).messages)
  expect([toChat, toResponses, toAnthropic, toGemini]).toEqual([
    [
      { role: 'tool', tool_call_id: 'c', content: 'hi' },
      { role: 'function', name: 'ECHO', content: 'hi' },
    ],
    [{ type: 'function_call_output', call_id: 'c', output: 'hi' }],
    [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'hi' }] }],
    [{ role: 'user', parts: [{ functionResponse: { name: 'ECHO', response: { output: 'hi' } } }] }],
  ])
})
