import { afterAll, expect, test } from '@jest/globals'
import { errorAnswer } from '../support/error-answer.ts'
import { Server } from '../support/server.ts'
import { post, put, remove, tool } from '../support/tool.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())

const NEVER = `"sha256:${'0'.repeat(64)}"`

async function write(
  name: string,
  description: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  return put(server, name, tool(name, description), { headers })
}
async function tagOf(name: string): Promise<string> {
  return (await server.fetch(`/workflows/tools/defs/${name}`)).headers.get('etag') ?? 'absent'
}

test('If-Match with the present entity tag writes, in every form that a header may have', async () => {
  await write('matched', 'Version 0.')
  const forms = [(tag: string) => tag, (tag: string) => `W/${tag}`, (tag: string) => `"x", ${tag}`, () => '*']
  for (const [index, form] of forms.entries()) {
    const headers = { 'If-Match': form(await tagOf('matched')) }
    expect((await write('matched', `Version ${index + 1}.`, headers)).status).toBe(200)
  }
})

test('If-Match with another tag, or for what does not exist, is a 412 and changes nothing', async () => {
  await write('kept', 'Kept.')
  const tag = await tagOf('kept')
  for (const answer of [
    await write('kept', 'Other.', { 'If-Match': NEVER }),
    await remove(server, 'kept', 'user', { 'If-Match': NEVER }),
    await write('absent_a', 'New.', { 'If-Match': '*' }),
    await write('absent_a', 'New.', { 'If-Match': NEVER }),
  ]) {
    expect(await errorAnswer(answer)).toMatchObject({ httpStatus: 412, reason: 'PRECONDITION_FAILED' })
  }
  expect(await tagOf('kept')).toBe(tag)
  expect(await tagOf('absent_a')).toBe('absent')
})

test('If-None-Match: * creates and never overwrites', async () => {
  const create = { 'If-None-Match': '*' }
  expect((await write('once', 'First.', create)).status).toBe(201)
  expect((await write('once', 'First.', create)).status).toBe(412)
  expect((await write('once', 'Second.', create)).status).toBe(412)
  expect((await write('once', 'Second.', { 'If-None-Match': NEVER })).status).toBe(200)
  expect((await write('once', 'Third.', { 'If-None-Match': await tagOf('once') })).status).toBe(412)
})

test('a delete with the present tag deletes; of what is absent it is a 404, not a 412', async () => {
  await write('leaving', 'X.')
  const headers = { 'If-Match': await tagOf('leaving') }
  expect((await remove(server, 'leaving', 'user', headers)).status).toBe(200)
  expect((await remove(server, 'leaving', 'user', headers)).status).toBe(404)
})

test.each(['sha256:00', '"open', 'W/', '', '""x', '*, "a"', '"a" "b"', ',', 'w/"a"'])(
  'If-Match: %s can not be read: a 400 that says so, and nothing is written',
  async (value) => {
    for (const name of ['If-Match', 'If-None-Match']) {
      for (const answer of [
        await write('headers', 'X.', { [name]: value }),
        await remove(server, 'headers', 'user', { [name]: value }),
      ]) {
        const error = await errorAnswer(answer)
        expect([name, error.httpStatus, error.reason]).toEqual([name, 400, 'HEADER_INVALID'])
        expect(error.message).toBe(`${name} must be * or quoted entity tags, such as "sha256:…".`)
      }
    }
    expect(await tagOf('headers')).toBe('absent')
  },
)

test('a bulk write takes no precondition and says what to use', async () => {
  const answer = await server.fetch('/workflows/tools/defs', {
    method: 'POST',
    headers: { 'If-Match': '*' },
    body: JSON.stringify([tool('bulk')]),
  })
  expect(await errorAnswer(answer)).toMatchObject({ httpStatus: 400, reason: 'HEADER_INVALID' })
  expect((await post(server, [tool('bulk')])).status).toBe(200)
})

test('of two writes at once on the same If-Match exactly one wins and the other is a 412', async () => {
  await write('raced', 'Start.')
  for (let round = 0; round < 20; round += 1) {
    const headers = { 'If-Match': await tagOf('raced') }
    const answers = await Promise.all(
      ['a', 'b'].map(async (who) => (await write('raced', `Round ${round} of ${who}.`, headers)).status),
    )
    expect(answers.toSorted((a, b) => a - b)).toEqual([200, 412])
  }
})

test('of eight creators at once with If-None-Match: * exactly one creates', async () => {
  for (let round = 0; round < 5; round += 1) {
    const creators = Array.from({ length: 8 }, async (_, who) => {
      return (await write(`created_${round}`, `By ${who}.`, { 'If-None-Match': '*' })).status
    })
    const statuses = (await Promise.all(creators)).toSorted((a, b) => a - b)
    expect(statuses).toEqual([201, ...Array.from({ length: 7 }, () => 412)])
  }
})

test('a rollback obeys preconditions as well', async () => {
  await write('rolled', 'One.')
  const first = await tagOf('rolled')
  await write('rolled', 'Two.')
  const body = JSON.stringify({ digest: first.replaceAll('"', '') })
  const roll = (headers: Record<string, string>): Promise<Response> =>
    server.fetch('/workflows/tools/defs/rolled/rollback', { method: 'POST', body, headers })
  expect((await roll({ 'If-Match': first })).status).toBe(412)
  expect((await roll({ 'If-Match': await tagOf('rolled') })).status).toBe(200)
  expect(await tagOf('rolled')).toBe(first)
})
