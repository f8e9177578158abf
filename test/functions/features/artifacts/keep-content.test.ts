import { beforeEach, expect, test } from '@jest/globals'
import { toolResult, type InvocationResult, type JsonObject, type ToolDefinition } from '@toolrack/contract'
import { RESULT_BYTES_MAX } from '../../../../functions/src/calls/pipeline/run-tool.ts'
import type {
  MadeContent,
  RunnerCall,
  RunnerOutcome,
} from '../../../../functions/src/catalog/definitions/runner.ts'
import { outcomeOf, type Authorised } from '../../../../functions/src/calls/call.ts'
import { BUILTINS } from '../../../../functions/src/catalog/builtin/builtins.ts'
import type { ArtifactBytes } from '../../../../functions/src/features/artifacts/artifact-bytes.ts'
import type { ArtifactStore } from '../../../../functions/src/features/artifacts/artifact-store.ts'
import {
  ATTACHED_BYTES_MAX,
  cutText,
  keepContent,
  KEPT_TEXT_BYTES_MAX,
  READ_TEXT_BYTES_MAX,
} from '../../../../functions/src/features/artifacts/keep-content.ts'
import { ArtifactFiles } from '../../../../functions/src/stores/files/artifact-files.ts'
import { askingRunner } from '../../../support/asking-runner.ts'
import { routeService } from '../../../support/route-service.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const SECRET = 'the secret of all'
const OTHER_SECRET = 'schlüssel/Größe-Straße'
const CODE = 'Kq7Zx9Canary'
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

function python(name: string, properties: JsonObject = {}, more: object = {}): ToolDefinition {
  return {
    type: 'function',
    function: {
      name,
      description: 'Makes something.',
      parameters: { type: 'object', properties, additionalProperties: true },
    },
    runner: { kind: 'python', module: 'maker', sha256: 'a'.repeat(64), ...more },
  } as unknown as ToolDefinition
}

const FILE = { type: 'string', format: 'artifact' }
const TOOLS = [
  python('maker:make'),
  python('maker:secret', {}, { secrets: ['GLOBAL_KEY', 'OTHER_KEY', 'CODE'] }),
  python('maker:read', { file: FILE, files: { type: 'array', items: FILE }, note: { type: 'string' } }),
]

/** A schema that takes 26 seconds if each of its parts is visited for each element of `x`, and no turn is given. */
const wide = python('maker:wide', {
  x: { type: 'array', items: { anyOf: Array.from({ length: 900 }, () => ({ format: 'artifact' })) } },
})

const calls: RunnerCall[] = []
let outcome: object = { text: 'done' }
/** While it is set, calls end only with it. */
let held: Promise<void> | undefined
const folder = temporaryFolder()
const bytes = new ArtifactFiles(folder.path)
/** What the next write of bytes does in place of writing. */
let fault: Error | undefined
const faulty: ArtifactBytes = {
  write: (key, content, max) => (fault ? Promise.reject(fault) : bytes.write(key, content, max)),
  read: (key, range) => bytes.read(key, range),
  remove: (keys) => bytes.remove(keys),
  removeMadeBefore: (ms) => bytes.removeMadeBefore(ms),
  close: () => bytes.close(),
}

const ask = await routeService([...TOOLS, wide], {
  artifactBytes: faulty,
  runner: {
    ...askingRunner(),
    async invoke(call) {
      calls.push(call)
      await held
      const log = { text: '', truncated: false }
      const usage = { cpuMs: 1, wallMs: 1, maxRssBytes: 1 }
      return { isolation: 'L2', usage, log, ...outcome } as unknown as RunnerOutcome
    },
  },
})

beforeEach(async () => {
  calls.length = 0
  outcome = { text: 'done' }
  fault = undefined
  await ask('admin', 'PUT /secrets/GLOBAL_KEY?layer=global', { body: { value: SECRET } })
  await ask('admin', 'PUT /secrets/OTHER_KEY?layer=global', { body: { value: OTHER_SECRET } })
  await ask('admin', 'PUT /secrets/CODE?layer=global', { body: { value: CODE } })
})

type Success = Extract<InvocationResult, { readonly resultType: 'success' }>

async function invoke(name = 'maker:make', args: JsonObject = {}, query = ''): Promise<Success> {
  const { body } = await ask('ann', `POST /tools/invoke${query}`, { body: { name, arguments: args } })
  return body as unknown as Success
}

async function dispatch(
  name = 'maker__make',
): Promise<{ readonly messages: JsonObject[]; readonly result: Success }> {
  const calls = [{ type: 'tool_use', id: 'a', name, input: {} }]
  const { body } = await ask('ann', 'POST /tools/dispatch', { body: calls })
  const { messages, results } = body as unknown as { messages: JsonObject[]; results: { result: Success }[] }
  return { messages, result: results[0]?.result as Success }
}

const made = (more: Partial<MadeContent> = {}): MadeContent => ({
  type: 'image',
  mimeType: 'image/png',
  name: 'chart.png',
  bytes: PNG,
  ...more,
})

async function contentOf(id: string | undefined): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of (await bytes.read(id ?? '')) ?? []) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

test('an image and a file of a result are artifacts of the caller, and the result names them', async () => {
  const file = made({ type: 'file', mimeType: 'text/csv', name: '/work/a.csv', bytes: Buffer.from('a,b\n') })
  outcome = { json: '{"image":1}', made: [made(), file] }
  const { content = [], meta } = await invoke()
  const [image, table] = content
  expect(content).toEqual([
    {
      type: 'image',
      artifact: expect.any(String),
      mimeType: 'image/png',
      name: 'chart.png',
      bytes: PNG.length,
    },
    { type: 'file', artifact: expect.any(String), mimeType: 'text/csv', name: 'a.csv', bytes: 4 },
  ])
  expect(await contentOf(table && 'artifact' in table ? table.artifact : '')).toBe('a,b\n')
  const { body } = await ask('ann', 'GET /artifacts')
  expect(body['items']).toContainEqual(
    expect.objectContaining({
      id: image && 'artifact' in image && image.artifact,
      tool: 'maker:make',
      invocationId: meta.invocationId,
    }),
  )
  expect((await ask('bob', 'GET /artifacts')).body['items']).toEqual([])
})

test('what is called an image and is none is a file', async () => {
  const html = made({ bytes: Buffer.from('<script>alert(1)</script>') })
  const jpeg = made({ mimeType: 'image/png', bytes: Buffer.from('ffd8ffe0', 'hex') })
  const odd = made({ type: 'file', mimeType: 'text/html\r\nX-Evil: 1', name: 'a\r\nb' })
  outcome = { json: '[]', made: [html, jpeg, { ...odd, bytes: Buffer.from('x') }] }
  expect((await invoke()).content).toMatchObject([
    { type: 'file', mimeType: 'image/png' },
    { type: 'image', mimeType: 'image/jpeg' },
    { type: 'file', mimeType: 'application/octet-stream', name: 'ab' },
  ])
})

test('a text above 32 KB is kept whole, and the model gets its beginning, its end and its id', async () => {
  const text = `first line\n${'é'.repeat(50_000)}\nlast line`
  outcome = { text }
  const { result, messages } = await dispatch()
  const { artifact } = result.meta
  expect(await contentOf(artifact)).toBe(text)
  const shown = result.textResultForLlm
  expect(shown.length).toBeLessThan(10_000)
  expect(shown).toMatch(/^first line\n/)
  expect(shown).toMatch(/\nlast line$/)
  expect(shown).toContain(`The whole text is the artifact ${artifact}: the tool read_artifact`)
  expect(JSON.stringify(messages)).toContain(JSON.stringify(shown).slice(1, -1))
  expect(await invoke()).toMatchObject({ textResultForLlm: text })
  expect((await invoke()).meta.artifact).toBeUndefined()
  const cut = await invoke('maker:make', {}, '?cut=1')
  expect(await contentOf(cut.meta.artifact)).toBe(text)
  expect(cut.textResultForLlm).not.toBe(text)
  outcome = { text: 'x'.repeat(READ_TEXT_BYTES_MAX) }
  expect((await dispatch()).result).toMatchObject({ textResultForLlm: 'x'.repeat(READ_TEXT_BYTES_MAX) })
})

test('a page that read_artifact returns is never kept or cut, however long it is', async () => {
  const artifacts = { keep: () => Promise.resolve({ id: 'x' }) } as unknown as ArtifactStore
  const step = keepContent({ artifacts, log: { warn: () => undefined } })
  const text = 'x'.repeat(RESULT_BYTES_MAX + 1)
  const howRun = { by: 'builtin', builtin: BUILTINS.get('read_artifact') }
  const entry = { name: 'read_artifact', stored: { text: '' } }
  const call = { howRun, entry, principal: { uid: 'ann' }, cutsText: true } as unknown as Authorised
  const returned = outcomeOf(call, toolResult(text))
  expect(await step(call, () => Promise.resolve(returned))).toBe(returned)
})

test('a text above 256 KB is kept whole for invoke too, and a value of this size is not answered', async () => {
  const value = JSON.stringify(Array.from({ length: 60_000 }, (_, at) => at))
  outcome = { json: value }
  const result = await invoke()
  expect(calls.at(-1)?.resultBytesMax).toBe(KEPT_TEXT_BYTES_MAX)
  expect(await contentOf(result.meta.artifact)).toBe(value)
  expect(result.data).toBeUndefined()
  expect(result.textResultForLlm.length).toBeLessThan(10_000)
})

test('a value of up to 256 KB is answered whole in data, also if its text is cut', async () => {
  const value = Array.from({ length: 20_000 }, (_, at) => at)
  outcome = { json: JSON.stringify(value) }
  const gemini = [{ functionCall: { name: 'maker__make', args: {} } }]
  const { body } = await ask('ann', 'POST /tools/dispatch', { body: gemini })
  const { messages, results } = body as unknown as { messages: unknown; results: { result: Success }[] }
  const result = results[0]?.result as Success
  expect(result.data).toEqual(value)
  expect(await contentOf(result.meta.artifact)).toBe(JSON.stringify(value))
  expect(JSON.stringify(messages).length).toBeLessThan(12_000)
})

test('a cut divides no character', () => {
  for (const shift of ['', 'a', 'ab', 'abc']) {
    const text = shift + '🌧'.repeat(50_000)
    expect(cutText(text, 200_000, { id: 'x' }).isWellFormed()).toBe(true)
  }
})

test('a secret that the tool got is in no artifact, neither in its bytes nor in its name or type', async () => {
  const text = made({
    type: 'file',
    mimeType: `x/${SECRET}`,
    name: `${SECRET}.txt`,
    bytes: Buffer.from(`key=${SECRET}`),
  })
  const binary = made({
    type: 'file',
    bytes: Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(SECRET)]),
  })
  outcome = { text: `${SECRET} ${'x'.repeat(300_000)}`, made: [text, binary, made()] }
  const result = await invoke('maker:secret')
  expect(JSON.stringify(result)).not.toContain(SECRET)
  const [kept, dropped, image] = result.content ?? []
  expect(kept).toMatchObject({ type: 'file', mimeType: 'application/octet-stream' })
  expect(await contentOf(kept && 'artifact' in kept ? kept.artifact : '')).toBe('key=[redacted]')
  expect(dropped).toMatchObject({ type: 'text', text: expect.stringContaining('was not kept') })
  expect(image).toMatchObject({ type: 'image' })
  expect(await contentOf(result.meta.artifact)).not.toContain(SECRET)
})

test.each([
  ['a binary file in UTF-8', Buffer.concat([Buffer.from([0xff]), Buffer.from(OTHER_SECRET)])],
  ['a binary file in Latin-1', Buffer.from(OTHER_SECRET, 'latin1')],
  ['a file in UTF-16', Buffer.from(`\ufeffkey=${SECRET}`, 'utf16le')],
  ['a file in UTF-16 that is valid UTF-8', Buffer.from(`key=${SECRET}`, 'utf16le').swap16()],
])('%s with a secret that the tool got is not kept', async (_what, bytes) => {
  outcome = { text: 'done', made: [made({ type: 'file', mimeType: 'text/plain', bytes })] }
  expect((await invoke('maker:secret')).content).toEqual([
    { type: 'text', text: expect.stringContaining('was not kept, because it has a secret') },
  ])
})

test('the sentence in place of an image with a secret says that it was an image', async () => {
  outcome = { text: 'done', made: [made({ bytes: Buffer.concat([PNG, Buffer.from(SECRET)]) })] }
  expect((await invoke('maker:secret')).content).toEqual([
    { type: 'text', text: 'An image of the result was not kept, because it has a secret that the tool got.' },
  ])
})

test('a secret is in no type in small letters, and no part of one is a name', async () => {
  const parts = [
    { type: 'file', mimeType: `X/${CODE}`, name: 'a.csv' },
    { type: 'file', mimeType: 'text/csv', name: 'Größe-Straße.csv' },
    { type: 'file', mimeType: 'text/csv', name: 'Straße.csv' },
  ] as const
  outcome = { text: 'done', made: parts.map((part) => made({ ...part, bytes: Buffer.from('a,b') })) }
  expect((await invoke('maker:secret')).content).toMatchObject([
    { mimeType: 'application/octet-stream', name: 'a.csv' },
    { mimeType: 'text/csv', name: 'artifact' },
    { mimeType: 'text/csv', name: 'Straße.csv' },
  ])
})

test('if nothing can be kept, the call succeeds nevertheless, and says what is missing', async () => {
  fault = new Error('the disk is gone')
  outcome = { text: `a${'x'.repeat(300_000)}z`, made: [made()] }
  const result = await invoke()
  expect(result.resultType).toBe('success')
  expect(result.content).toMatchObject([{ type: 'text', text: expect.stringContaining('was not kept') }])
  expect(result.meta.artifact).toBeUndefined()
  expect(result.textResultForLlm).toMatch(/^axxx/)
  expect(result.textResultForLlm).toContain('The rest was not kept')
  expect(JSON.stringify(result)).not.toContain('the disk is gone')
})

async function upload(who: 'ann' | 'bob', body: string, name = 'a.txt'): Promise<string> {
  const answer = await ask(who, 'POST /artifacts', { body, headers: { 'X-Name': name } })
  return String(answer.body['id'])
}

test('an argument with the format artifact reaches the runner as a file', async () => {
  const [one, other] = [await upload('ann', 'one', 'one.csv'), await upload('ann', 'other')]
  await invoke('maker:read', { file: one, files: [other, one], note: one })
  expect(calls.at(-1)?.attached).toEqual([
    { pointer: '/file', name: 'one.csv', bytes: Buffer.from('one') },
    { pointer: '/files/0', name: 'a.txt', bytes: Buffer.from('other') },
    { pointer: '/files/1', name: 'one.csv', bytes: Buffer.from('one') },
  ])
  expect(calls.at(-1)?.arguments).toEqual({ file: one, files: [other, one], note: one })
})

test('a replayed call has the same ids, and its history names them', async () => {
  outcome = { json: JSON.stringify(Array.from({ length: 20_000 }, (_, at) => at)), made: [made()] }
  const asked = {
    body: { name: 'maker:make' },
    headers: { 'Idempotency-Key': 'replayed' },
  }
  const [first, again] = [
    await ask('ann', 'POST /tools/invoke?cut=1', asked),
    await ask('ann', 'POST /tools/invoke?cut=1', asked),
  ].map(({ body }) => body as unknown as Success)
  expect(calls).toHaveLength(1)
  expect(again).toMatchObject({
    textResultForLlm: first?.textResultForLlm,
    data: first?.data,
    content: first?.content,
    meta: { artifact: first?.meta.artifact, replayed: true },
  })
  expect(again?.content).toHaveLength(1)
  const { body } = await ask('ann', `GET /tools/invocations/${first?.meta.invocationId}`)
  const [image] = first?.content ?? []
  expect(body['artifacts']).toEqual([first?.meta.artifact, image && 'artifact' in image && image.artifact])
})

test('dispatch gives the model the image itself in the block of its vendor, and a sentence for a file', async () => {
  const file = made({ type: 'file', mimeType: 'text/csv', name: 'a.csv', bytes: Buffer.from('a,b\n') })
  outcome = { json: '{"image":1}', made: [made(), file] }
  const { messages, result } = await dispatch()
  const [image, table] = result.content ?? []
  const text = JSON.stringify(messages)
  expect(text).toContain(`"media_type":"image/png","data":"${PNG.toString('base64')}"`)
  expect(text).toContain(table && 'artifact' in table ? table.artifact : 'no id')
  expect(JSON.stringify(result)).not.toContain(PNG.toString('base64'))
  const key = { 'Idempotency-Key': 'an image' }
  const calls = [{ type: 'tool_use', id: 'a', name: 'maker__make', input: {} }]
  const asked = { body: calls, headers: key }
  const [first, again] = [
    await ask('ann', 'POST /tools/dispatch', asked),
    await ask('ann', 'POST /tools/dispatch', asked),
  ]
  expect(again.body['messages']).toEqual(first.body['messages'])
  expect(JSON.stringify(again.body['messages'])).toContain(PNG.toString('base64'))
  expect(image).toMatchObject({ type: 'image' })
})

test('arguments that are too large for their schema are refused before anything is run', async () => {
  const { code, body } = await ask('ann', 'POST /tools/invoke', {
    body: { name: 'maker:wide', arguments: { x: Array.from({ length: 20_000 }, () => 1) } },
  })
  expect(code).toBe('ARGUMENTS_INVALID')
  expect(body['error']).toContain('too large together')
  expect(calls).toEqual([])
})

test("another user's artifact, and one that never was, are refused in the same words, and nothing runs", async () => {
  const ofBob = await upload('bob', 'of bob')
  const texts = []
  for (const id of [ofBob, '019b7d2a-0000-7000-8000-000000000000', 'x', '../../token']) {
    const { status, code, body } = await ask('ann', 'POST /tools/invoke', {
      body: { name: 'maker:read', arguments: { file: id } },
    })
    expect([status, code]).toEqual([404, 'ARTIFACT_NOT_FOUND'])
    texts.push(body['error'])
  }
  expect(new Set(texts).size).toBe(1)
  expect(calls).toEqual([])
})

test('artifacts that are too large together, and too many, are refused', async () => {
  const large = await upload('ann', 'x'.repeat(ATTACHED_BYTES_MAX / 2 + 1))
  for (const files of [[large, large], Array.from({ length: 17 }, () => 'x')]) {
    const { code } = await ask('ann', 'POST /tools/invoke', {
      body: { name: 'maker:read', arguments: { files } },
    })
    expect(code).toBe('ARGUMENTS_INVALID')
  }
  expect(calls).toEqual([])
})

const read = (who: 'ann' | 'bob', file: string) =>
  ask(who, 'POST /tools/invoke', { body: { name: 'maker:read', arguments: { file } } })

test('one user cannot fill the memory with the files of calls, and others still get files', async () => {
  const [ofAnn, ofBob] = [await upload('ann', 'x'.repeat(ATTACHED_BYTES_MAX)), await upload('bob', 'of bob')]
  const { promise, resolve: end } = Promise.withResolvers<void>()
  held = promise
  const ofAll = []
  // With the heap of any machine, so many calls are too many.
  for (let call = 0; call < 64; call += 1) ofAll.push(read('ann', ofAnn))
  const refused = await Promise.any(ofAll)
  expect([refused.status, refused.code]).toEqual([429, 'SERVICE_BUSY'])
  expect(refused.headers.get('retry-after')).toBe('1')
  const bob = read('bob', ofBob)
  end()
  held = undefined
  expect((await bob).status).toBe(200)
  const codes = (await Promise.all(ofAll)).map(({ code }) => code)
  expect(new Set(codes)).toEqual(new Set([undefined, 'SERVICE_BUSY']))
  expect((await read('ann', ofAnn)).status).toBe(200)
})
