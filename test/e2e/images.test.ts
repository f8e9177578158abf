import Anthropic from '@anthropic-ai/sdk'
import type { MessageParam } from '@anthropic-ai/sdk/resources/messages'
import { GoogleGenAI } from '@google/genai'
import type { Content } from '@google/genai'
import { expect } from '@jest/globals'
import OpenAI from 'openai'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { Artifacts, ToolDispatcher } from '../../packages/client/src/index.ts'
import { anthropic, chat, gemini, responses } from '../client/calls.ts'
import { sharedServerWithRunner, uploaded } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import { ScriptedVendor } from '../support/scripted-vendor.ts'

/** Images and files on their whole way: from a handler to the request to a vendor, and from a user to a handler. */

const MODULE = `
import os
import struct
import zlib

import toolrack


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def plot(pixels: int = 316):
    """Draws a square of random pixels."""
    header = struct.pack(">IIBBBBB", pixels, pixels, 8, 2, 0, 0, 0)
    rows = b"".join(b"\\0" + os.urandom(3 * pixels) for _ in range(pixels))
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return toolrack.Image(b"\\x89PNG\\r\\n\\x1a\\n" + chunks, "image/png")


def size(file):
    return {"bytes": os.path.getsize(file), "ends": os.path.splitext(file)[1]}


TOOL_SPECS = [
    {"name": "charts:plot", "handler": plot},
    {
        "name": "charts:size",
        "description": "Tells the size of a file.",
        "parameters": {
            "type": "object",
            "properties": {"file": {"type": "string", "format": "artifact"}},
            "required": ["file"],
        },
        "handler": size,
    },
]
`

const shared = sharedServerWithRunner()

async function opened() {
  const server = await shared()
  await uploaded(server, 'charts', MODULE)
  const connection = { service: server.url, token: server.token }
  return { dispatcher: new ToolDispatcher(connection), artifacts: new Artifacts(connection) }
}

/** The images in a request, in base64: PNGs begin with these characters. */
function imagesIn(request: unknown): readonly string[] {
  return JSON.stringify(request).match(/iVBORw0KGgo[\w+/]+={0,2}/g) ?? []
}

withPython(
  'an image of a tool reaches each vendor in its own block, through the SDK of the vendor',
  async () => {
    const { dispatcher, artifacts } = await opened()
    const shown = async (vendor: ScriptedVendor): Promise<string> => {
      const images = imagesIn(vendor.asked.at(-1)?.body)
      expect(images).toHaveLength(1)
      const kept = await artifacts.list()
      const bytes = Buffer.from(images[0] ?? '', 'base64')
      expect(bytes.length).toBeGreaterThan(299_000)
      expect(
        bytes.equals(Buffer.from(await (await artifacts.get(kept.at(-1)?.id ?? '')).arrayBuffer())),
      ).toBe(true)
      return JSON.stringify(vendor.asked.at(-1)?.body)
    }
    const answer = {
      type: 'message',
      id: 'm',
      role: 'assistant',
      model: 'm',
      content: [],
      usage: {},
      output: [],
    }
    await using vendor = await ScriptedVendor.start([answer])
    const options = { apiKey: 'none', maxRetries: 0 }

    const toAnthropic = await dispatcher.dispatch<MessageParam>([anthropic('c', 'charts__plot', {})])
    const claude = new Anthropic({ ...options, baseURL: vendor.origin })
    await claude.messages.create({ model: 'm', max_tokens: 1, messages: toAnthropic.messages })
    expect(await shown(vendor)).toContain('"content":[{"type":"text","text"')

    const toResponses = await dispatcher.dispatch<ResponseInputItem>([responses('c', 'charts__plot', {})])
    const openai = new OpenAI({ ...options, baseURL: vendor.origin })
    await openai.responses.create({ model: 'm', input: toResponses.messages })
    expect(await shown(vendor)).toContain('{"type":"input_image","image_url":"data:image/png;base64,iVBOR')

    const toGemini = await dispatcher.dispatch<Content>([gemini(undefined, 'charts:plot', {})])
    const google = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: vendor.origin, fetch } })
    await google.models.generateContent({ model: 'm', contents: toGemini.messages })
    expect(await shown(vendor)).toContain('"parts":[{"inlineData":{"mimeType":"image/png","data":"iVBOR')

    const toChat = await dispatcher.dispatch<ChatCompletionMessageParam>([chat('c', 'charts__plot', {})])
    await openai.chat.completions.create({ model: 'm', messages: toChat.messages })
    const { body } = vendor.asked.at(-1) ?? {}
    expect(imagesIn(body)).toEqual([])
    const { id } = (await artifacts.list()).at(-1) ?? {}
    expect(JSON.stringify(body)).toContain(`is the artifact ${id}. You do not see it here.`)
  },
)

withPython('a chart opens by its link without a token, and is harmless there', async () => {
  const { dispatcher, artifacts } = await opened()
  const result = await dispatcher.invoke('charts:plot', { pixels: 3 })
  const [image] = (result.resultType === 'success' && result.content) || []
  expect(image).toMatchObject({ type: 'image', mimeType: 'image/png' })
  const { url } = await artifacts.link((image?.type === 'image' && image.artifact) || '')
  const answer = await fetch(url)
  expect([
    answer.status,
    answer.headers.get('content-type'),
    answer.headers.get('x-content-type-options'),
  ]).toEqual([200, 'image/png', 'nosniff'])
  expect(answer.headers.get('content-security-policy')).toMatch(/^sandbox;/)
  expect(Buffer.from(await answer.arrayBuffer()).toString('latin1')).toMatch(/^\x89PNG/)
})

withPython('a file that the client uploads is a file for the handler', async () => {
  const { dispatcher, artifacts } = await opened()
  const { id } = await artifacts.upload(new Blob(['a,b\n1,2\n']), { name: 'täble 1.csv', type: 'text/csv' })
  const result = await dispatcher.invoke('charts:size', { file: id })
  expect(result).toMatchObject({ resultType: 'success', data: { bytes: 8, ends: '.csv' } })
  await artifacts.delete(id)
  expect(await dispatcher.invoke('charts:size', { file: id })).toMatchObject({ resultType: 'failure' })
})
