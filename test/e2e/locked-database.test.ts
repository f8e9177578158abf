import { afterAll, expect, test } from '@jest/globals'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { errorAnswer } from '../support/error-answer.ts'
import { Server } from '../support/server.ts'
import { listedNames, post, put, remove, tool } from '../support/tool.ts'
import { whilePending } from '../support/while-pending.ts'

const server = await Server.start()
afterAll(() => server[Symbol.asyncDispose]())

/** Another program that has the database open and holds a lock, until it is disposed of. */
function lock(begin: string): Disposable & { readonly release: () => void } {
  const database = new DatabaseSync(join(server.data, 'toolrack.db'), { timeout: 5_000 })
  database.exec(begin)
  return {
    release: () => database.exec('ROLLBACK'),
    [Symbol.dispose]: () => database.close(),
  }
}

test('while another program holds a lock every write is a 503 that says so, and lists go on', async () => {
  await put(server, 'known', tool('known'))
  const before = await listedNames(server)
  using other = lock('BEGIN EXCLUSIVE')
  const version = '{"revision":"1-0"}'
  const writes = [
    put(server, 'new', tool('new')),
    post(server, [tool('new_a'), tool('new_b')]),
    put(server, 'new', tool('new'), { layer: 'global' }),
    remove(server, 'known'),
  ]
  const all = Promise.all(writes)
  const lists = await whilePending(all, async (count) => {
    const answer = await server.fetch(`/workflows/tools/list?names=known,n${count}`)
    expect(answer.status).toBe(200)
    expect(await answer.json()).toHaveLength(1)
  })
  expect(lists).toBeGreaterThan(0)
  for (const answer of await all) {
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(await errorAnswer(answer)).toMatchObject({
      httpStatus: 503,
      reason: 'STORE_BUSY',
      message: 'The store is locked by another program; nothing was written.',
    })
  }
  expect(await listedNames(server)).toEqual(before)
  expect(
    (await server.fetch('/workflows/tools/defs/known/rollback', { method: 'POST', body: version })).status,
  ).toBe(404)

  other.release()
  expect((await put(server, 'new', tool('new'))).status).toBe(201)
  expect((await remove(server, 'new')).status).toBe(200)
})

test('a write that meets a lock waits for it and goes through when it is released in time', async () => {
  using other = lock('BEGIN IMMEDIATE')
  const waiting = put(server, 'patient', tool('patient'))
  // Few, because a write waits for a second only.
  for (let lists = 0; lists < 3; lists += 1)
    expect(await listedNames(server, `names=patient,n${lists}`)).toEqual([])
  other.release()
  expect((await waiting).status).toBe(201)
})
