import { afterAll, expect } from '@jest/globals'
import type { InvocationResult, JsonObject } from '@toolrack/contract'
import { existsSync } from 'node:fs'
import { crc32, deflateSync } from 'node:zlib'
import type { Artifact } from '../../functions/src/features/artifacts/artifact.ts'
import { serverWithRunner, uploaded } from '../support/modules.ts'
import { PYTHON, withPython } from '../support/runner-environment.ts'
import { Server } from '../support/server.ts'

/** Images, files and long texts, from a tool in the jail to the user, and from the user to a tool. */

const server = await (existsSync(PYTHON) ? serverWithRunner() : Server.start())
afterAll(() => server[Symbol.asyncDispose]())

/** A whole PNG of noise, which cannot be compressed, of about this size. */
function png(bytes: number): Buffer {
  const width = 256
  const height = Math.ceil(bytes / width)
  const rows = Buffer.alloc(height * (width + 1))
  for (let at = 0, seed = 1; at < rows.length; at += 1) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    rows[at] = at % (width + 1) === 0 ? 0 : (seed >> 16) & 0xff
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head[8] = 8
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

const SOURCE = `
import hashlib
from pathlib import Path

import toolrack


def chart(file: str) -> dict:
    return {"title": "A chart", "chart": toolrack.Image(Path(file).read_bytes(), "image/png")}


def table() -> list:
    Path("table.csv").write_text("a,b\\n1,2\\n")
    return [toolrack.File("table.csv", type="text/csv")]


def log(lines: int) -> str:
    return "".join(f"{at} a line of a log\\n" for at in range(lines))


def facts(file: str) -> dict:
    content = Path(file).read_bytes()
    return {"name": Path(file).name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


FILE = {
    "type": "object",
    "properties": {"file": {"type": "string", "format": "artifact", "description": "A file."}},
    "required": ["file"],
}
LINES = {
    "type": "object",
    "properties": {"lines": {"type": "integer", "description": "How many."}},
    "required": ["lines"],
}
NOTHING = {"type": "object", "properties": {}}

TOOL_SPECS = [
    {"name": "maker:chart", "description": "Draws.", "parameters": FILE, "handler": chart},
    {"name": "maker:table", "description": "Writes.", "parameters": NOTHING, "handler": table},
    {"name": "maker:log", "description": "Logs.", "parameters": LINES, "handler": log},
    {"name": "maker:facts", "description": "Measures.", "parameters": FILE, "handler": facts},
]
`

type Success = Extract<InvocationResult<JsonObject>, { readonly resultType: 'success' }>

async function invoke(name: string, args: JsonObject = {}): Promise<Success> {
  const body = JSON.stringify({ name, arguments: args })
  const result = (await (await server.fetch('/workflows/tools/invoke', { method: 'POST', body })).json()) as
    Success | { readonly error: unknown }
  if ('error' in result) throw new Error(JSON.stringify(result))
  return result
}

async function upload(body: Buffer<ArrayBuffer>, name: string): Promise<Artifact> {
  const answer = await server.fetch('/workflows/artifacts', {
    method: 'POST',
    body,
    headers: { 'X-Name': name },
  })
  return (await answer.json()) as Artifact
}

withPython(
  'a file of a user reaches a tool, and its image comes back by a link and in a message',
  async () => {
    await uploaded(server, 'maker', SOURCE)
    const image = png(300_000)
    const file = await upload(Buffer.from(image), 'my chart.png')
    const { data: facts } = await invoke('maker:facts', { file: file.id })
    expect(facts).toMatchObject({
      bytes: image.length,
      sha256: file.sha256,
      name: expect.stringMatching(/\.png$/),
    })
    const { content = [], data } = await invoke('maker:chart', { file: file.id })
    const [chart] = content
    expect(chart).toMatchObject({ type: 'image', mimeType: 'image/png', bytes: image.length })
    expect(JSON.stringify(data).length).toBeLessThan(200)
    const id = chart && 'artifact' in chart ? chart.artifact : ''
    const linked = await server.fetch(`/workflows/artifacts/${id}/link`, { method: 'POST' })
    const { url } = (await linked.json()) as { url: string }
    const shown = await fetch(server.url + url)
    expect(shown.headers.get('content-type')).toBe('image/png')
    expect(Buffer.from(await shown.arrayBuffer()).equals(image)).toBe(true)
    const base64 = image.toString('base64')
    const asked = JSON.stringify({ file: file.id })
    const calls: readonly unknown[] = [
      [{ type: 'tool_use', id: 'a', name: 'maker__chart', input: { file: file.id } }],
      [{ type: 'function_call', call_id: 'a', name: 'maker__chart', arguments: asked }],
      [{ functionCall: { name: 'maker__chart', args: { file: file.id } } }],
    ]
    for (const body of calls) {
      const answer = await server.fetch('/workflows/tools/dispatch', {
        method: 'POST',
        body: JSON.stringify(body),
      })
      const { messages } = (await answer.json()) as { messages: unknown }
      expect(JSON.stringify(messages)).toContain(base64)
    }
  },
)

withPython('a file of a tool is an artifact with its name and its type', async () => {
  await uploaded(server, 'maker', SOURCE)
  const [table] = (await invoke('maker:table')).content ?? []
  expect(table).toMatchObject({ type: 'file', mimeType: 'text/csv', name: 'table.csv', bytes: 8 })
})

withPython('a log of 2 MB is read by a model page by page', async () => {
  await uploaded(server, 'maker', SOURCE)
  const lines = 90_000
  const { meta, textResultForLlm: shown } = await invoke('maker:log', { lines })
  expect(shown.length).toBeLessThan(10_000)
  const id = meta.artifact ?? ''
  let read = ''
  for (let offset: unknown = 0; offset !== null;) {
    const { data } = await invoke('read_artifact', { id, offset: Number(offset), lines: 2_000 })
    read += typeof data?.['text'] === 'string' ? data['text'] : ''
    offset = data?.['next']
  }
  expect(read.length).toBeGreaterThan(1_900_000)
  expect(read.split('\n')).toHaveLength(lines + 1)
  const { data } = await invoke('read_artifact', { id, search: '^89999 ' })
  expect(data).toMatchObject({ matches: [{ text: '89999 a line of a log' }], next: null })
})
