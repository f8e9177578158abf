import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { DIALECTS } from '@toolrack/contract'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { bfclDefinitions, inBulks } from '../support/bfcl-definitions.ts'
import { errorAnswer } from '../support/error-answer.ts'
import { Server } from '../support/server.ts'
import { post, put, tool } from '../support/tool.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())
beforeAll(async () => {
  for (const bulk of inBulks(bfclDefinitions('definitions')))
    expect((await post(server, bulk)).status).toBe(200)
})

const BILL = /^(\d+)\/(\d+|-); full=(\d+); short=(\d+); deferred=(\d+); dropped=(\d+)$/

async function list(query: string, init: RequestInit = {}) {
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
    const { answer, text, ...bill } = await list(`${shape}&budget=${budget}`)
    expect(answer.status).toBe(200)
    expect([bill.used, bill.budget]).toEqual([tokensOf(text), String(budget)])
    if (bill.full + bill.short + bill.deferred > 0) expect(bill.used).toBeLessThanOrEqual(budget)
    else expect(budget).toBeLessThan(100)
    if (budget === 1_000_000_000) expect([bill.short, bill.deferred, bill.dropped]).toEqual([0, 0, 0])
  })

  test('and tokens=1 is the same list, with what it takes', async () => {
    const counted = await list(`${shape}&tokens=1`)
    expect([counted.used, counted.budget]).toEqual([tokensOf(counted.text), '-'])
    const plain = await list(shape)
    expect(plain.text).toBe(counted.text)
    expect(plain.answer.headers.has('x-tools-tokens')).toBe(false)
  })
})

test('a list is answered with a 304, and its bytes and tag are those of every equal request', async () => {
  const [one, other] = [await list('budget=4000'), await list('budget=4000')]
  expect(other.text).toBe(one.text)
  const etag = one.answer.headers.get('etag') ?? ''
  expect(other.answer.headers.get('etag')).toBe(etag)
  const again = await list('budget=4000', { headers: { 'If-None-Match': etag } })
  expect(again.answer.status).toBe(304)
  expect(again.answer.headers.get('x-tools-tokens')).toBe(one.answer.headers.get('x-tools-tokens'))
  expect((await list('budget=4001')).answer.headers.get('etag')).not.toBe(etag)
})

const WHOLE = /must be a whole number of tokens from 0 to \d+, such as 4000\.$/
test.each([
  ...['-1', '1.5', 'many', '', '1e3', '0x10', '٣', ' 1', '1000000000000000'].map(
    (budget) => [`budget=${encodeURIComponent(budget)}`, 'budget', WHOLE] as const,
  ),
  ['budget=1&budget=1', 'budget', /is given more than once\.$/],
  ['budget=10&limit=5', 'limit', /cannot be used with budget, which is for the whole list; leave it out\.$/],
  ['budget=10&cursor=Z2xvYmFsL2E', 'cursor', /cannot be used with budget/],
  ['tokens=yes', 'tokens', /must be 0 or 1 or false or true\.$/],
] as const)('?%s is a 400 that says what to send', async (query, parameter, message) => {
  const answer = await errorAnswer(await server.fetch(`/workflows/tools/list?${query}`))
  expect(answer).toMatchObject({ httpStatus: 400, details: [{ reason: 'PARAMETER_INVALID', parameter }] })
  expect(answer.message).toMatch(message)
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
  expect((await list('names=aaa_first&budget=30')).deferred).toBe(1)
})
