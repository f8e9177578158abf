import { expect, test } from '@jest/globals'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Server } from '../support/server.ts'
import { list, put, remove, tool } from '../support/tool.ts'

test('definitions, deletions, revision and token outlive a clean stop', async () => {
  await using server = await Server.start()
  await put(server, 'stays', tool('stays'))
  await put(server, 'goes', tool('goes'))
  await remove(server, 'goes')
  const state = async () => {
    const answer = await server.fetch('/workflows/tools/list')
    return [answer.headers.get('x-tools-revision'), await answer.text(), server.token]
  }
  const before = await state()
  expect(await server.stop()).toMatchObject({ code: 0 })
  await server.restart()
  expect(await state()).toEqual(before)
})

/** One writer: new names, and again and again the same one. It keeps what was acknowledged and what was not. */
async function writeUntilKilled(server: Server, writer: string, acknowledge: () => void) {
  const acknowledged: string[] = []
  for (let count = 0; count < 10_000; count += 1) {
    const name = `${writer}_${count}`
    try {
      const created = await put(server, name, tool(name))
      if (created.status !== 201) throw new Error(`${name} was answered ${created.status}`)
      acknowledged.push(name)
      const counted = await put(server, `${writer}_counter`, tool(`${writer}_counter`, String(count)))
      if (!counted.ok) throw new Error(`the counter was answered ${counted.status}`)
      acknowledge()
    } catch (error) {
      if ((error as Error).name !== 'TypeError') throw error
      return { writer, acknowledged, underWay: name, count }
    }
  }
  throw new Error('the server was never killed')
}

test('every acknowledged write is there after kill -9 in the middle of writes, three times over', async () => {
  await using server = await Server.start()
  const expected: string[] = []
  for (let round = 0; round < 3; round += 1) {
    let acknowledged = 0
    function killAfterSome(): void {
      acknowledged += 1
      if (acknowledged === 40) server.signal('SIGKILL')
    }
    const writers = ['a', 'b', 'c'].map((who) => writeUntilKilled(server, `${who}${round}`, killAfterSome))
    const results = await Promise.all(writers)
    expect((await server.ended()).signal).toBe('SIGKILL')
    await server.restart()

    const tools = new Map(
      (await list(server)).map((listed) => [listed.function.name, listed.function.description]),
    )
    for (const { writer, acknowledged: names, underWay, count } of results) {
      expect(names.filter((name) => !tools.has(name))).toEqual([])
      const mine = [...tools.keys()].filter(
        (name) => name.startsWith(`${writer}_`) && !name.endsWith('_counter'),
      )
      expect(mine.filter((name) => !names.includes(name) && name !== underWay)).toEqual([])
      expect([count - 1, count]).toContain(Number(tools.get(`${writer}_counter`)))
      expected.push(...names)
    }
  }
  const names = new Set((await list(server)).map((listed) => listed.function.name))
  expect(expected.filter((name) => !names.has(name))).toEqual([])
  expect(expected.length).toBeGreaterThan(100)
})

test('after kill -9 the database is sound and each definition has the version it was written with', async () => {
  await using server = await Server.start()
  const writing = writeUntilKilled(server, 'w', () => undefined)
  while ((await list(server)).length < 40);
  server.signal('SIGKILL')
  await writing
  await server.ended()
  using database = new DatabaseSync(join(server.data, 'toolrack.db'))
  expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  const torn = database.prepare(`SELECT name FROM definitions AS d WHERE NOT EXISTS
    (SELECT 1 FROM versions AS v WHERE v.layer = d.layer AND v.name = d.name AND v.revision = d.revision AND v.digest = d.digest)`)
  expect(torn.all()).toEqual([])
  const counted = database.prepare(
    `SELECT size - (SELECT count(*) FROM definitions WHERE text IS NOT NULL) AS off FROM layers`,
  )
  expect(counted.all()).toEqual([{ off: 0 }])
})

test('after kill -9 a new server takes the data over at once: no stale claim', async () => {
  await using server = await Server.start()
  const answer = put(server, 'in_flight', tool('in_flight')).catch(() => undefined)
  await server.kill9()
  await answer
  await server.restart()
  expect((await server.fetch('/health')).status).toBe(200)
})

test('the token is made once, readable by its owner only, and the data folder belongs to the owner', async () => {
  await using server = await Server.start()
  const path = join(server.data, 'token')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(statSync(server.data).mode & 0o077).toBe(0)
  const { token } = server
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/)
  await server.stop()
  await server.restart()
  expect(server.token).toBe(token)
})

test('SIGTERM, SIGINT and SIGHUP end the server with code 0', async () => {
  const stops = (['SIGTERM', 'SIGINT', 'SIGHUP'] as const).map(async (signal) => {
    await using server = await Server.start()
    await put(server, 'before', tool('before'))
    server.signal(signal)
    expect(await server.ended()).toMatchObject({ code: 0, signal: null, stderr: '' })
  })
  await Promise.all(stops)
})

test('closing the other end of --parent-pipe=3 ends the server with code 0', async () => {
  await using server = await Server.start({ args: ['--parent-pipe=3'] })
  expect((await server.fetch('/health')).status).toBe(200)
  server.parentPipe.destroy()
  await once(server.parentPipe, 'close')
  expect(await server.ended()).toMatchObject({ code: 0, stderr: '' })
})
