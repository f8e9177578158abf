import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { errorAnswer } from '../support/error-answer.ts'
import { Server } from '../support/server.ts'
import { listedNames, post } from '../support/tool.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())

const ANSWER_BYTES_MAX = 25 * 1024 * 1024
const PER_BULK = 21
const BULKS = 26
const DESCRIPTION = '€'.repeat(16_384)

/** 546 definitions of 48 kB each: a little more than an answer may hold. */
beforeAll(async () => {
  for (let bulk = 0; bulk < BULKS; bulk += 1) {
    const definitions = Array.from({ length: PER_BULK }, (_, index) => ({
      name: `big_${String(bulk * PER_BULK + index).padStart(4, '0')}`,
      description: DESCRIPTION,
    }))
    expect((await post(server, definitions, 'layer=global')).status).toBe(200)
  }
  // It writes 26 MB, for which a busy machine needs more than a minute.
}, 240_000)

test('a list above 25 MB is a 413 that names limit, in both envelopes', async () => {
  for (const query of ['', '?envelope=items']) {
    const answer = await errorAnswer(await server.fetch(`/workflows/tools/list${query}`))
    expect(answer).toMatchObject({ httpStatus: 413, reason: 'ANSWER_TOO_LARGE' })
    expect(answer.message).toMatch(/page it with limit \(at most 1000\) and cursor\.$/)
  }
})

test('with limit the same list comes whole, and no page is larger than an answer may be', async () => {
  const names: string[] = []
  let path = '/workflows/tools/list?limit=1000'
  for (let pages = 0; path !== '' && pages < 5; pages += 1) {
    const answer = await server.fetch(path)
    expect(answer.status).toBe(200)
    const body = await answer.text()
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(ANSWER_BYTES_MAX + names.length + 1_000)
    names.push(
      ...(JSON.parse(body) as { function: { name: string } }[]).map((listed) => listed.function.name),
    )
    path = /<([^>]+)>/.exec(answer.headers.get('link') ?? '')?.[1] ?? ''
  }
  expect(path).toBe('')
  expect(names.filter((name) => name.startsWith('big_'))).toHaveLength(PER_BULK * BULKS)
  expect(new Set(names).size).toBe(names.length)
})

test('a filter that keeps the answer small needs no limit', async () => {
  expect(await listedNames(server, 'names=big_0000,big_0545')).toEqual(['big_0000', 'big_0545'])
})
