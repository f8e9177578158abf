import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { DIALECTS } from '@toolrack/contract'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import type { BulkAnswer } from '../../functions/src/catalog/definitions/write-answer.ts'
import { bfclDefinitions, inBulks } from '../support/bfcl-definitions.ts'
import { errorAnswer } from '../support/error-answer.ts'
import { Server } from '../support/server.ts'
import { listedNames, post, put, remove, tool } from '../support/tool.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())
/** The 753 definitions of which lists within a budget are made. */
beforeAll(async () => {
  for (const definitions of inBulks(bfclDefinitions('definitions')))
    expect((await post(server, definitions)).status).toBe(200)
})

const tools = (count: number, prefix: string) =>
  Array.from({ length: count }, (_, index) => tool(`${prefix}_${index}`))
const bulk = async (body: unknown, query?: string): Promise<BulkAnswer> => {
  const answer = await post(server, body, query)
  expect(answer.status).toBe(200)
  return (await answer.json()) as BulkAnswer
}
async function namesWith(prefix: string): Promise<readonly string[]> {
  return (await listedNames(server)).filter((name) => name.startsWith(`${prefix}_`))
}
async function revision(): Promise<string | null> {
  return (await server.fetch('/workflows/tools/list?names=[]')).headers.get('x-tools-revision')
}

test('200 definitions are written in one step, with one answer each, in order', async () => {
  const { results } = await bulk(tools(200, 'full'))
  expect(results.map(({ name }) => name)).toEqual(tools(200, 'full').map((_, index) => `full_${index}`))
  expect(new Set(results.map((result) => result.revision)).size).toBe(1)
  expect(results.every(({ outcome }) => outcome === 'created')).toBe(true)
  expect(await namesWith('full')).toHaveLength(200)
  const before = await revision()
  expect((await bulk(tools(200, 'full'))).results.every(({ outcome }) => outcome === 'unchanged')).toBe(true)
  expect(await revision()).toBe(before)
})

test.each([
  ['201', tools(201, 'over')],
  ['no', []],
])('%s definitions are a 400 that says 1 to 200', async (_count, body) => {
  const answer = await errorAnswer(await post(server, body))
  expect(answer).toMatchObject({ httpStatus: 400, reason: 'BODY_INVALID' })
  expect(answer.message).toContain('send 1 to 200 at a time')
  expect(await namesWith('over')).toEqual([])
})

test('one definition alone, and a definitions file, are bulks too', async () => {
  expect((await bulk(tool('alone_1'))).results).toMatchObject([{ name: 'alone_1', outcome: 'created' }])
  expect((await bulk({ family: 'f', tools: tools(2, 'file') })).results).toHaveLength(2)
})

/** Item 57 of 200 has three things wrong with it. */
const BAD = { type: 'function', function: { name: 'bad_57', description: 5, parameters: [], strange: 1 } }
const withOneBad = (prefix: string) => tools(200, prefix).map((item, index) => (index === 57 ? BAD : item))

test('one bad definition of 200 refuses all of them, with each of its faults and where it lies', async () => {
  const before = await revision()
  const answer = await errorAnswer(await post(server, withOneBad('refused')))
  expect(answer).toMatchObject({ httpStatus: 422, reason: 'DEFINITION_INVALID' })
  expect(answer.message).toBe(
    '1 of 200 definitions were refused, so nothing was written; correct them or send onInvalid=skip.',
  )
  expect(answer.details.map(({ index, pointer }) => [index, pointer])).toEqual([
    [57, '/function/description'],
    [57, '/function/parameters'],
    [57, '/function/strange'],
  ])
  expect(await namesWith('refused')).toEqual([])
  expect(await revision()).toBe(before)
})

test('onInvalid=skip writes the other 199 and tells what was left out', async () => {
  const { results, refused } = await bulk(withOneBad('skipped'), 'onInvalid=skip')
  expect(results).toHaveLength(199)
  expect(new Set(refused?.map(({ index }) => index))).toEqual(new Set([57]))
  expect(refused).toHaveLength(3)
  expect(await namesWith('skipped')).toHaveLength(199)
})

test('onInvalid=skip with nothing that is valid writes nothing and says why', async () => {
  const before = await revision()
  const { results, refused } = await bulk([BAD, 5, null, 'x', []], 'onInvalid=skip')
  expect(results).toEqual([])
  expect(new Set(refused?.map(({ index }) => index))).toEqual(new Set([0, 1, 2, 3, 4]))
  expect(await revision()).toBe(before)
})

test('every bad definition is told at once, whatever is wrong with it', async () => {
  const bad = [
    { name: 'no name', description: 'X.' },
    { name: 'text_root', parameters: { type: 'string' } },
    { name: 'remote', input_schema: { type: 'object', properties: { a: { $ref: 'https://x.example' } } } },
    { description: 'Nameless.' },
    7,
  ]
  const answer = await errorAnswer(await post(server, [tool('good_1'), ...bad]))
  expect(answer.details.map(({ index, pointer, reason }) => [index, pointer, reason])).toEqual([
    [1, '/name', 'NAME_INVALID'],
    [2, '/parameters/type', 'SCHEMA_REJECTED'],
    [3, '/input_schema/properties/a/$ref', 'SCHEMA_REJECTED'],
    [4, '/name', 'DEFINITION_INVALID'],
    [5, '', 'DEFINITION_INVALID'],
  ])
  expect(await namesWith('good')).toEqual([])
})

test('the same name twice in one request is refused with both places', async () => {
  const body = [tool('twice_a'), tool('twice_b'), tool('twice_a', 'Again.')]
  const answer = await errorAnswer(await post(server, body))
  expect(answer).toMatchObject({ httpStatus: 422, details: [{ index: 2, reason: 'DEFINITION_INVALID' }] })
  expect(answer.details[0]?.['message']).toBe('the name is already that of item 0 of this request')
  expect(await namesWith('twice')).toEqual([])
  const { results, refused } = await bulk(body, 'onInvalid=skip')
  expect([results.length, refused?.length]).toEqual([2, 1])
})

test('onConflict=skip leaves what is there, onConflict=error refuses all, upsert replaces', async () => {
  await put(server, 'conflict_0', tool('conflict_0', 'Old.'))
  const body = tools(3, 'conflict')
  const answer = await errorAnswer(await post(server, body, 'onConflict=error'))
  expect(answer).toMatchObject({ httpStatus: 409, reason: 'NAME_TAKEN', details: [{ index: 0 }] })
  expect(await namesWith('conflict')).toEqual(['conflict_0'])

  const skipped = await bulk(body, 'onConflict=skip')
  expect(skipped.results.map(({ outcome }) => outcome)).toEqual(['skipped', 'created', 'created'])
  expect((await bulk(body, 'onConflict=upsert')).results.map(({ outcome }) => outcome)).toEqual([
    'updated',
    'unchanged',
    'unchanged',
  ])
  await remove(server, 'conflict_1')
  expect((await post(server, tools(2, 'conflict').slice(1), 'onConflict=error')).status).toBe(200)
})

test.each(['onConflict=replace', 'onInvalid=ignore', 'layer=file', 'onConflict=', 'names=a', 'dryRun=1'])(
  '?%s is a 400 and nothing is written',
  async (query) => {
    expect((await post(server, tools(1, 'query'), query)).status).toBe(400)
    expect(await namesWith('query')).toEqual([])
  },
)

const fiftyBy = (who: string) =>
  Array.from({ length: 50 }, (_, index) => tool(`mixed_${index}`, `By ${who}.`))

test('three bulks at once on the same names leave one whole bulk, never a mixture', async () => {
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(['a', 'b', 'c'].map((who) => bulk(fiftyBy(`${who}${round}`))))
    const answer = await server.fetch('/workflows/tools/list')
    const all = (await answer.json()) as { function: { name: string; description: string } }[]
    const written = all.filter((listed) => listed.function.name.startsWith('mixed_'))
    expect(new Set(written.map((listed) => listed.function.description)).size).toBe(1)
  }
})

const BILL = /^(\d+)\/(\d+|-); full=(\d+); short=(\d+); deferred=(\d+); dropped=(\d+)$/

async function counted(query: string, init: RequestInit = {}) {
  const answer = await server.fetch(`/workflows/tools/list?${query}`, init)
  const text = await answer.text()
  const [, used, budget, ...counts] = BILL.exec(answer.headers.get('x-tools-tokens') ?? '') ?? []
  const [full = 0, short = 0, deferred = 0, dropped = 0] = counts.map(Number)
  return { answer, text, used: Number(used), budget, full, short, deferred, dropped }
}
const tokensOf = (text: string): number =>
  encode(text, { allowedSpecial: new Set(), disallowedSpecial: new Set() }).length

const SHAPES = ['envelope=array', 'envelope=items', ...DIALECTS.map((dialect) => `dialect=${dialect}`)]

describe.each(SHAPES)('a list with %s', (shape) => {
  test.each([0, 1, 10, 4_000, 60_000, 1_000_000_000])('and budget=%d takes what it says', async (budget) => {
    const { answer, text, ...bill } = await counted(`${shape}&budget=${budget}`)
    expect(answer.status).toBe(200)
    expect([bill.used, bill.budget]).toEqual([tokensOf(text), String(budget)])
    if (bill.full + bill.short + bill.deferred > 0) expect(bill.used).toBeLessThanOrEqual(budget)
    else expect(budget).toBeLessThan(100)
    if (budget === 1_000_000_000) expect([bill.short, bill.deferred, bill.dropped]).toEqual([0, 0, 0])
  })

  test('and tokens=1 is the same list, with what it takes', async () => {
    const bill = await counted(`${shape}&tokens=1`)
    expect([bill.used, bill.budget]).toEqual([tokensOf(bill.text), '-'])
    const plain = await counted(shape)
    expect(plain.text).toBe(bill.text)
    expect(plain.answer.headers.has('x-tools-tokens')).toBe(false)
  })
})

test('a list is answered with a 304, and its bytes and tag are those of every equal request', async () => {
  const [one, other] = [await counted('budget=4000'), await counted('budget=4000')]
  expect(other.text).toBe(one.text)
  const etag = one.answer.headers.get('etag') ?? ''
  expect(other.answer.headers.get('etag')).toBe(etag)
  const again = await counted('budget=4000', { headers: { 'If-None-Match': etag } })
  expect(again.answer.status).toBe(304)
  expect(again.answer.headers.get('x-tools-tokens')).toBe(one.answer.headers.get('x-tools-tokens'))
  expect((await counted('budget=4001')).answer.headers.get('etag')).not.toBe(etag)
})

test('explain says on which detail level a tool is, and the budgets with which it is on each', async () => {
  await put(server, 'aaa_first', tool('aaa_first', 'First. Second, with more words.'))
  const explain = async (query: string) => {
    const answer = await server.fetch(`/workflows/tools/explain?name=aaa_first&${query}`)
    return (await answer.json()) as { budget?: { needs: Record<string, number>; message: string } }
  }
  expect(await explain('')).not.toHaveProperty('budget')
  const { budget } = await explain('names=aaa_first,uuid&budget=30')
  expect(budget).toMatchObject({ budget: 30, rung: 'deferred', because: 'name', place: 1, of: 1 })
  expect(budget?.message).toMatch(/^The tool has place 1 of 1, .* short needs a budget of \d+\.$/)
  const { short = 0, full = 0 } = budget?.needs ?? {}
  for (const [tokens, rung] of [
    [short - 1, 'deferred'],
    [short, 'short'],
    [full - 1, 'short'],
    [full, 'full'],
    [0, 'dropped'],
  ] as const)
    expect(await explain(`names=aaa_first&budget=${tokens}`)).toMatchObject({ budget: { rung } })
  expect(await explain('names=uuid&budget=30')).toMatchObject({ budget: { rung: null } })
  expect((await counted('names=aaa_first&budget=30')).deferred).toBe(1)
})
