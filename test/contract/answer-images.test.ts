import type { MessageParam } from '@anthropic-ai/sdk/resources/messages'
import type { Content } from '@google/genai'
import { expect, test } from '@jest/globals'
import { answerCalls, CALL_FORMATS, imagesToShow, mcpResult } from '@toolrack/contract'
import type { AnsweredImage, CallFormatName, ResultContent, ToolResult } from '@toolrack/contract'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { randomPng } from '../support/png.ts'

const ID = '0197a3c2-0000-7000-8000-000000000001'
const PNG = randomPng(316)
const DATA = PNG.toString('base64')
const IMAGE = image(ID, PNG.length)
const TEXT = `{"image":1}\nThe image "chart.png" (image/png, ${PNG.length} bytes) is the artifact ${ID}`
const SHOWN = `${TEXT}: image 1 after this text.`
const NOT_SHOWN = `${TEXT}. You do not see it here.`

function image(artifact: string, bytes: number, mimeType = 'image/png'): ResultContent & { type: 'image' } {
  return { type: 'image', artifact, mimeType, name: 'chart.png', bytes }
}

function result(...content: readonly ResultContent[]): ToolResult {
  return { resultType: 'success', textResultForLlm: '{"image":1}', data: { image: 1 }, content }
}

/** The messages of a format for one call with these images. */
function messages(
  name: CallFormatName,
  of: ToolResult<unknown> = result(IMAGE),
  images: readonly AnsweredImage[] = [{ artifact: ID, mimeType: 'image/png', data: DATA }],
): readonly object[] {
  const format = CALL_FORMATS.find((one) => one.name === name)
  return format?.messages([{ call: { id: 'c', name: 'PLOT' }, result: of, images }]) ?? []
}

/** The messages for Anthropic with an image of these bytes in base64, which is said to be a PNG. */
function sent(data: string): readonly object[] {
  return messages('anthropic', result(IMAGE), [{ artifact: ID, mimeType: 'image/png', data }])
}

/** The types are half of the test: each value is what the vendor's SDK declares. */
test("a PNG of 300 kB is in each vendor's own block, and in a sentence where the vendor takes none", () => {
  expect(PNG.length).toBeGreaterThan(299_000)
  const anthropic: MessageParam[] = [
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'c',
          content: [
            { type: 'text', text: SHOWN },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: DATA } },
          ],
        },
      ],
    },
  ]
  const responses: ResponseInputItem[] = [
    {
      type: 'function_call_output',
      call_id: 'c',
      output: [
        { type: 'input_text', text: SHOWN },
        { type: 'input_image', image_url: `data:image/png;base64,${DATA}` },
      ],
    },
  ]
  const gemini: Content[] = [
    {
      role: 'user',
      parts: [
        {
          functionResponse: {
            id: 'c',
            name: 'PLOT',
            response: { output: SHOWN },
            parts: [{ inlineData: { mimeType: 'image/png', data: DATA } }],
          },
        },
      ],
    },
  ]
  const chat: ChatCompletionMessageParam[] = [{ role: 'tool', tool_call_id: 'c', content: NOT_SHOWN }]
  const functions: ChatCompletionMessageParam[] = [{ role: 'function', name: 'PLOT', content: NOT_SHOWN }]
  expect(messages('anthropic')).toEqual(anthropic)
  expect(messages('openai-responses')).toEqual(responses)
  expect(messages('gemini')).toEqual(gemini)
  expect(messages('openai')).toEqual(chat)
  expect(messages('openai-functions')).toEqual(functions)
  expect(messages('ai-sdk')).toEqual([
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'c',
          toolName: 'PLOT',
          output: {
            type: 'content',
            value: [
              { type: 'text', text: SHOWN },
              { type: 'image-data', data: DATA, mediaType: 'image/png' },
            ],
          },
        },
      ],
    },
  ])
  expect(messages('langchain')).toEqual([
    {
      type: 'tool',
      tool_call_id: 'c',
      content: [
        { type: 'text', text: SHOWN },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${DATA}` } },
      ],
    },
  ])
})

test('a result for MCP has the image as its content, and a failure is an error', () => {
  const images = [{ artifact: ID, mimeType: 'image/png', data: DATA }]
  const call = { id: 'c', name: 'PLOT' }
  const shown: CallToolResult = mcpResult({ call, result: result(IMAGE), images })
  expect(shown).toEqual({
    content: [
      { type: 'text', text: SHOWN },
      { type: 'image', data: DATA, mimeType: 'image/png' },
    ],
  })
  const failure: ToolResult = {
    resultType: 'failure',
    textResultForLlm: 'no',
    error: 'no',
    code: 'TOOL_RAISED',
  }
  expect(mcpResult({ call, result: failure })).toEqual({
    content: [{ type: 'text', text: 'no' }],
    isError: true,
  })
})

test('the messages have the base64 once, and little else', () => {
  const withImage = ['anthropic', 'openai-responses', 'gemini', 'ai-sdk', 'langchain'] as const
  for (const name of withImage) {
    const { length } = JSON.stringify(messages(name))
    expect(length - DATA.length).toBeLessThan(500)
  }
  for (const name of ['openai', 'openai-functions'] as const)
    expect(JSON.stringify(messages(name)).length).toBeLessThan(500)
})

test('an image that is not loaded, a file, and a type or size that a vendor does not take are sentences', () => {
  const file = {
    type: 'file',
    artifact: ID,
    mimeType: 'text/csv',
    name: 'a "b".csv',
    bytes: 7,
  } as const
  const sentence = `{"image":1}\nThe file "a \\"b\\".csv" (text/csv, 7 bytes) is the artifact ${ID}. You do not see it here.`
  for (const { name } of CALL_FORMATS) {
    expect(JSON.stringify(messages(name, result(file)))).toContain(JSON.stringify(sentence).slice(1, -1))
    const unloaded = JSON.stringify(messages(name, result(IMAGE), []))
    expect(unloaded).toContain(JSON.stringify(NOT_SHOWN).slice(1, -1))
    for (const odd of [image(ID, 4 * 1024 * 1024 * 1024, 'image/tiff'), image(ID, 7, 'image/svg+xml')])
      expect(
        JSON.stringify(messages(name, result(odd), [{ artifact: ID, mimeType: 'x', data: 'PHN2Zz4=' }])),
      ).toContain('You do not see it here.')
  }
  const large = image(ID, 3_932_161)
  expect(JSON.stringify(messages('anthropic', result(large)))).toContain('You do not see it here.')
  expect(JSON.stringify(messages('gemini', result(large)))).toContain('image 1 after this text')
})

test('an image that is HTML is not sent as an image, and one with a wrong type is sent with its own', () => {
  const html = Buffer.from('<html><script>alert(1)</script>').toString('base64')
  const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 1, 2]).toString('base64')
  expect(JSON.stringify(sent(html))).not.toContain(html)
  expect(sent(jpeg)).toMatchObject([
    { content: [{ content: [{}, { source: { media_type: 'image/jpeg', data: jpeg } }] }] },
  ])
})

test('several images are counted in their order, and a result without content is as before', () => {
  const two = ['0197a3c2-0000-7000-8000-000000000002', '0197a3c2-0000-7000-8000-000000000003'] as const
  const images = two.map((artifact) => ({ artifact, mimeType: 'image/png', data: DATA }))
  const [message] = messages('anthropic', result(...two.map((id) => image(id, 7))), images.toReversed())
  const text = JSON.stringify(message)
  expect(text).toMatch(new RegExp(`${two[0]}: image 1 after.*${two[1]}: image 2 after`))
  const plain: ToolResult = { resultType: 'success', textResultForLlm: 'hi' }
  expect(messages('anthropic', plain)).toEqual([
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'hi' }] },
  ])
  const failure: ToolResult = {
    resultType: 'failure',
    textResultForLlm: 'no',
    error: 'no',
    code: 'TOOL_RAISED',
  }
  expect(messages('gemini', failure)).toEqual([
    { role: 'user', parts: [{ functionResponse: { id: 'c', name: 'PLOT', response: { error: 'no' } } }] },
  ])
})

test('only images that the vendor takes are to be loaded, each once, and at most 8 MB of them', () => {
  const { images } = CALL_FORMATS.find(({ name }) => name === 'openai-responses') ?? {}
  const other = '0197a3c2-0000-7000-8000-000000000002'
  const third = '0197a3c2-0000-7000-8000-000000000003'
  const large = image(ID, 8 * 1024 * 1024 - 100)
  const results = [
    result(large, image(other, 101), image(third, 100)),
    result(large, image('x', 7, 'image/gif')),
  ]
  expect(imagesToShow(results, images).map(({ artifact }) => artifact)).toEqual([ID, third])
  const [first, second] = [image(ID, 3 * 1024 * 1024), image(other, 5 * 1024 * 1024)]
  expect(imagesToShow([result(first), result(first, second)], images)).toEqual([first, second])
  expect(imagesToShow(results, undefined)).toEqual([])
})

test('the images of reported results are taken with them, and must have the right shape', () => {
  const calls = [{ index: 0, id: 'c', name: 'PLOT' }]
  const images = [{ artifact: ID, mimeType: 'image/png', data: DATA }]
  expect(answerCalls(calls, [{ index: 0, result: result(IMAGE), images }])).toMatchObject([
    { call: calls[0], result: result(IMAGE), images },
  ])
  for (const bad of [
    null,
    'x',
    {},
    [null],
    [{ artifact: ID }],
    [{ artifact: ID, mimeType: 'image/png', data: 1 }],
  ])
    expect(answerCalls(calls, [{ index: 0, result: 'hi', images: bad }])).toEqual({
      fault: 'has an item 0 whose images are not a list of {"artifact","mimeType","data"}',
    })
})
