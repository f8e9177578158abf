import { afterAll, expect, jest, test } from '@jest/globals'
import type { InvocationResult, JsonObject } from '@toolrack/contract'
import { shippedTool } from '../../../support/shipped-tool.ts'
import { routeService, type Asker } from '../../../support/route-service.ts'
import type { ByteRange } from '../../../../functions/src/features/artifacts/artifact-bytes.ts'
import { artifactReader } from '../../../../functions/src/features/artifacts/artifact-reader.ts'
import type { ArtifactStore } from '../../../../functions/src/features/artifacts/artifact-store.ts'
import { Turns } from '../../../../functions/src/loop-turn.ts'
import { ArtifactFiles } from '../../../../functions/src/stores/files/artifact-files.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { turnsDuring } from '../../../support/turns-during.ts'

const folder = temporaryFolder()
afterAll(() => folder[Symbol.dispose]())
const ask = await routeService([shippedTool('echo'), shippedTool('../own/artifacts')], {
  artifactBytes: new ArtifactFiles(folder.path),
})

type Part = { text: string; matches: { offset: number; text: string }[]; next: number | null }

async function upload(body: string): Promise<string> {
  return String((await ask('ann', 'POST /artifacts', { body })).body['id'])
}

async function read(id: string, args: JsonObject = {}, who: Asker = 'ann') {
  const { body } = await ask(who, 'POST /tools/invoke', {
    body: { name: 'read_artifact', arguments: { id, ...args } },
  })
  return body as unknown as InvocationResult<Part>
}

async function found(id: string, args: JsonObject = {}): Promise<Part> {
  const result = await read(id, args)
  if (result.resultType === 'failure' || !result.data) throw new Error(JSON.stringify(result))
  return result.data
}

/** All pages of an artifact, read one after the other as a model would. */
async function pages(id: string, args: JsonObject = {}): Promise<readonly string[]> {
  const texts: string[] = []
  for (let next: number | null = 0; next !== null;) {
    const part: Part = await found(id, { ...args, offset: next })
    expect(Buffer.byteLength(JSON.stringify(part))).toBeLessThan(64 * 1024)
    texts.push(part.text)
    next = part.next
  }
  return texts
}

test('a log of 2 MB is read page by page, and nothing is lost or doubled', async () => {
  const log = Array.from({ length: 30_000 }, (_, at) => `${at} ${'wörd '.repeat(10)}🌧 line\n`).join('')
  expect(Buffer.byteLength(log)).toBeGreaterThan(2_000_000)
  const id = await upload(log)
  const texts = await pages(id)
  expect(texts.join('')).toBe(log)
  for (const text of texts.slice(0, -1)) expect(text.endsWith('\n')).toBe(true)
  const { text, next } = await found(id, { lines: 2 })
  expect(text).toBe(log.split('\n').slice(0, 2).join('\n') + '\n')
  expect((await found(id, { offset: next, lines: 1 })).text).toMatch(/^2 /)
})

/** What a model gets for its call of `read_artifact`. */
async function dispatched(args: JsonObject) {
  const calls = [{ type: 'tool_use', id: 'a', name: 'read_artifact', input: args }]
  const { body } = await ask('ann', 'POST /tools/dispatch', { body: calls })
  const { messages, results } = body as unknown as {
    messages: { content: { content: string | { text: string }[] }[] }[]
    results: { result: InvocationResult<Part> }[]
  }
  const [result] = results
  if (!result || result.result.resultType === 'failure') throw new Error(JSON.stringify(results))
  const content = messages[0]?.content[0]?.content
  const text = typeof content === 'string' ? content : (content?.[0]?.text ?? '')
  return { text, artifact: result.result.meta.artifact }
}

test.each([
  ['of JSON', JSON.stringify(Array.from({ length: 12_000 }, (_, at) => ({ key: `"é${at}\\"` })))],
  ['of control characters', '\u0001\b🌧'.repeat(20_000)],
])(
  'a model reads one long line %s in a dispatch to its end, and no page is cut or kept',
  async (_what, line) => {
    const id = await upload(line)
    const texts: string[] = []
    for (let next: number | null = 0; next !== null;) {
      const { text, artifact } = await dispatched({ id, offset: next, lines: 2_000 })
      expect(artifact).toBeUndefined()
      expect(Buffer.byteLength(text)).toBeLessThan(30 * 1024)
      const part = JSON.parse(text) as Part
      texts.push(part.text)
      next = part.next
    }
    expect(texts.join('')).toBe(line)
  },
)

test('matches whose JSON is long fit into a page too, and the search goes on with the one that did not fit', async () => {
  const lines = Array.from({ length: 40 }, (_, at) => `${at}${'\u0001'.repeat(600)}`)
  const id = await upload(lines.join('\n'))
  const found: string[] = []
  for (let next: number | null = 0; next !== null;) {
    const { text, artifact } = await dispatched({ id, offset: next, search: '^[0-9]+' })
    expect(artifact).toBeUndefined()
    expect(Buffer.byteLength(text)).toBeLessThan(30 * 1024)
    const part = JSON.parse(text) as Part
    found.push(...part.matches.map((match) => match.text))
    next = part.next
  }
  expect(found).toEqual(lines.map((line) => line.slice(0, 400)))
})

test('one long line, and an empty text, are read too', async () => {
  const line = 'é🌧'.repeat(40_000)
  expect((await pages(await upload(line))).join('')).toBe(line)
  expect(await found(await upload(' '), {})).toMatchObject({ text: ' ', next: null })
})

test('lines are found by RE2, each with the place where it can be read', async () => {
  const log = Array.from(
    { length: 5_000 },
    (_, at) => `${at} ${at % 1_000 === 7 ? 'ERROR ü' : 'fine'}\n`,
  ).join('')
  const id = await upload(log)
  const { matches, next } = await found(id, { search: '(?i)error' })
  expect(next).toBeNull()
  expect(matches.map(({ text }) => text)).toEqual([
    '7 ERROR ü',
    '1007 ERROR ü',
    '2007 ERROR ü',
    '3007 ERROR ü',
    '4007 ERROR ü',
  ])
  const [, second] = matches
  expect((await found(id, { offset: second?.offset ?? 0, lines: 1 })).text).toBe('1007 ERROR ü\n')
})

test('a search that finds much goes on where it stopped', async () => {
  const id = await upload('x\n'.repeat(120))
  let count = 0
  for (let next: number | null = 0; next !== null;) {
    const part: Part = await found(id, { search: 'x', offset: next })
    count += part.matches.length
    next = part.next
  }
  expect(count).toBe(120)
})

test.each([
  ['a look-around', '(?=x)'],
  ['a repetition that is written out', '((a{100}){100}){100}'],
  ['a repetition without end', 'a{1000,}'],
  ['a repetition with a large number', 'a{999999999}'],
  ['brackets that do not close', '('],
  ['many instructions', `(${'\\pL?'.repeat(19)}){100}[^\\pL]`],
  ['many instructions of nested repetitions', `((${'\\pL?'.repeat(19)}){10}){10}[^\\pL]`],
])('a pattern with %s is refused', async (_what, search) => {
  expect(await read(await upload('a'), { search })).toMatchObject({ code: 'ARGUMENTS_INVALID' })
})

test.each([
  '(a*)*b',
  '(.*)(.*)(.*)(.*)(.*)[A-Z]',
  '([a-z]+)+[A-Z]',
  `${'.*'.repeat(90)}[A-Z]`,
  '(a|b|ab|aab|.)*(.a){10}[A-Z]',
  '(a?){50}[A-Z]',
])('the hostile pattern %s ends, and says where to go on', async (search) => {
  const part = await found(await upload('a'.repeat(2_000_000)), { search })
  expect(part.matches).toEqual([])
  expect(part.next === null || part.next > 0).toBe(true)
})

/** Reads this content. Only the search itself can give turns: this store waits for nothing. */
function readerOf(content: Buffer, bytes = content.length) {
  const store = {
    find: () => Promise.resolve({ id: 'x', name: 'x', type: 'text/plain', bytes }),
    content: (_artifact: unknown, { start, end }: ByteRange) =>
      Promise.resolve(
        (async function* pieces() {
          yield content.subarray(start, end + 1)
        })(),
      ),
  } as unknown as ArtifactStore
  return artifactReader(store)({ kind: 'user', uid: 'ann', isAdmin: false }, new AbortController().signal)
}

test('a search whose time is over ends inside a long line, at a whole character, and the next one goes on there', async () => {
  // One of the characters that a step ends at has two UTF-16 code units, and four bytes.
  const content = Buffer.from(`é${'🌧'.repeat(60_000)}end`)
  const reader = readerOf(content)
  const clock = jest.spyOn(performance, 'now')
  const places: number[] = []
  try {
    // Each look at the clock is 100 ms later, so a search has time for a few steps only.
    let ms = 0
    clock.mockImplementation(() => (ms += 100))
    for (let next: number | null = 0; next !== null && places.length < 3;) {
      const part = (await reader.read({ id: 'x', search: 'end', offset: next })) as unknown as Part
      expect(part.matches).toEqual([])
      next = part.next
      places.push(next ?? content.length)
    }
  } finally {
    clock.mockRestore()
  }
  const [first = 0, second = 0, third = 0] = places
  expect(0 < first && first < second && second < third).toBe(true)
  // Four steps, of which each is half as long as the one before, because all of them were slow.
  expect(first).toBeLessThan(5_000)
  expect(places.map((place) => (place - 2) % 4)).toEqual([0, 0, 0])
  expect(await reader.read({ id: 'x', search: 'end', offset: third })).toMatchObject({
    matches: [{ offset: third }],
  })
})

test('a pattern of many instructions is matched in shorter steps than a usual one', async () => {
  const content = Buffer.alloc(20_000, 'a')
  async function stepsOf(search: string): Promise<number> {
    let steps = 0
    // The clock stands, so the speed of the machine changes nothing.
    const clock = jest.spyOn(performance, 'now').mockReturnValue(0)
    const run = jest.spyOn(Turns.prototype, 'run').mockImplementation((pieces) => {
      let piece = pieces.next()
      for (; !piece.done; piece = pieces.next()) steps += 1
      return Promise.resolve(piece.value)
    })
    await readerOf(content)
      .read({ id: 'x', search })
      .finally(() => [run, clock].forEach((mock) => mock.mockRestore()))
    return steps
  }
  expect(await stepsOf('b')).toBe(20)
  expect(await stepsOf(`(${'\\pL?'.repeat(19)}){40}[^\\pL]`)).toBeGreaterThan(150)
})

test('a file that is shorter than it was is no text without an end', async () => {
  const reader = readerOf(Buffer.alloc(0), 100)
  await expect(reader.read({ id: 'x' })).rejects.toMatchObject({ code: 'ARTIFACT_NOT_FOUND' })
  await expect(reader.read({ id: 'x', search: 'a' })).rejects.toMatchObject({ code: 'ARTIFACT_NOT_FOUND' })
})

test('a search that takes too long ends before the end of a line, and other requests have turns meanwhile', async () => {
  const content = Buffer.alloc(4_000_000, 'a')
  const reader = readerOf(content)
  const search = `${'(a|b|ab|aab|.)*'.repeat(6)}[A-Z]`
  await reader.read({ id: 'x', search: 'b' })
  const { result, turns } = await turnsDuring(() => reader.read({ id: 'x', search }))
  expect(turns).toBeGreaterThan(50)
  expect(result['next']).toBeGreaterThan(0)
  expect(result['next']).toBeLessThan(content.length)
})

test("another user's artifact is refused as one that never was", async () => {
  const id = await upload('of ann')
  const [other, none] = [
    await read(id, {}, 'bob'),
    await read('019b7d2a-0000-7000-8000-000000000000', {}, 'bob'),
  ]
  expect(other).toMatchObject({ resultType: 'failure', code: 'ARTIFACT_NOT_FOUND' })
  expect(other.textResultForLlm).toBe(none.textResultForLlm)
  expect(await read(id)).toMatchObject({ resultType: 'success' })
})

test('what is no text, and a place after the end, are told', async () => {
  const binary = String((await ask('ann', 'POST /artifacts', { body: '\u00ff' })).body['id'])
  expect(await read(binary, { offset: 1 })).toMatchObject({ code: 'ARGUMENTS_INVALID' })
  expect(await read(binary, { offset: 3 })).toMatchObject({ code: 'ARGUMENTS_INVALID' })
})

test('the tool is in a list only if it is asked for', async () => {
  const names = async (query: string): Promise<unknown> => {
    const { body } = await ask('ann', `GET /tools/list${query}`)
    return (body as unknown as { function: { name: string } }[]).map((one) => one.function.name)
  }
  expect(await names('')).toEqual(['ECHO'])
  expect(await names('?with=artifacts')).toEqual(['ECHO', 'read_artifact'])
  expect(await names('?with=search,artifacts')).toEqual(['ECHO', 'read_artifact'])
  expect(await names('?names=read_artifact')).toEqual(['read_artifact'])
  expect((await ask('ann', 'GET /tools/list?with=secrets')).code).toBe('PARAMETER_INVALID')
})
