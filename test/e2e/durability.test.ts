import { afterAll, expect, test } from '@jest/globals'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { copyOf } from '../support/opened-data.ts'
import { rawConnection, readAnswer } from '../support/raw-http.ts'
import { Server } from '../support/server.ts'
import { list, put, remove, tool } from '../support/tool.ts'
import { until } from '../support/until.ts'

/** The server of all tests, as `npm start` runs it. A test may leave it ended. */
const server = await Server.start({ args: ['--parent-pipe=3'] })
afterAll(() => server[Symbol.asyncDispose]())
let hasEnded = false
noteEnd()

function noteEnd(): void {
  hasEnded = false
  void server.ended().then(() => (hasEnded = true))
}

async function restart(): Promise<void> {
  await server.restart()
  noteEnd()
}

async function running(): Promise<void> {
  if (hasEnded) await restart()
}

async function expectOrderlyEnd(): Promise<void> {
  expect(await server.ended()).toMatchObject({ code: 0, signal: null, stderr: '' })
}

test('definitions, deletions, revision and the private token outlive a clean stop', async () => {
  await running()
  await put(server, 'stays', tool('stays'))
  await put(server, 'goes', tool('goes'))
  await remove(server, 'goes')
  const path = join(server.data, 'token')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(statSync(server.data).mode & 0o077).toBe(0)
  const state = async () => {
    const answer = await server.fetch('/workflows/tools/list')
    return [answer.headers.get('x-tools-revision'), await answer.text(), server.token]
  }
  const before = await state()
  expect(before[2]).toMatch(/^[A-Za-z0-9_-]{43}$/)
  server.signal('SIGTERM')
  await expectOrderlyEnd()
  await restart()
  expect(await state()).toEqual(before)
})

/** One writer: new names, and again and again the same one. It keeps what was acknowledged and what was not. */
async function writeUntilKilled(writer: string, acknowledge: () => void) {
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

/** The database that the killed server has left is sound, and each definition has the version it was written with. */
function expectSoundDatabase(): void {
  using left = copyOf(server.data)
  using database = new DatabaseSync(join(left.path, 'toolrack.db'))
  expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  const torn = database.prepare(`SELECT name FROM definitions AS d WHERE text IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM versions AS v WHERE v.layer = d.layer AND v.name = d.name AND v.revision = d.revision AND v.digest = d.digest)`)
  expect(torn.all()).toEqual([])
  const counted = database.prepare(
    `SELECT size - (SELECT count(*) FROM definitions WHERE text IS NOT NULL) AS off FROM layers`,
  )
  expect(counted.all()).toEqual([{ off: 0 }])
}

test('every acknowledged write is there after kill -9 in the middle of writes, three times over, the database is sound, and a new server starts at once', async () => {
  await running()
  const expected: string[] = []
  for (let round = 0; round < 3; round += 1) {
    let acknowledged = 0
    function killAfterSome(): void {
      acknowledged += 1
      if (acknowledged === 40) server.signal('SIGKILL')
    }
    const writers = ['a', 'b', 'c'].map((who) => writeUntilKilled(`${who}${round}`, killAfterSome))
    const results = await Promise.all(writers)
    expect((await server.ended()).signal).toBe('SIGKILL')
    expectSoundDatabase()
    await restart()

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

/** Whether the server takes no new connections any more. */
async function refusesConnections(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const refused = await Promise.race([
    once(socket, 'connect').then(() => false),
    once(socket, 'error').then(() => true),
  ]).catch(() => true)
  socket.destroy()
  return refused
}

/** Begins a write, and sends nothing of its body. */
async function beginWrite(name: string, bytes: number) {
  const socket = await rawConnection(server.url)
  const head = `PUT /workflows/tools/defs/${name} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ${bytes}\r\n`
  socket.write(`${head}Authorization: Bearer ${server.token}\r\n\r\n`)
  const [goOn] = (await once(socket, 'data')) as [Buffer]
  expect(goOn.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  return socket
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

test.each(SIGNALS)(
  '%s lets a request under way finish and its write is kept, and neither more signals nor connections that are kept open change that',
  async (signal) => {
    await running()
    const kept = await Promise.all([1, 2, 3].map(() => rawConnection(server.url)))
    for (const socket of kept) {
      socket.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n')
      await once(socket, 'data')
    }
    const closed = kept.map((socket) => once(socket.resume(), 'close'))
    const body = '{"description":"Written while stopping."}'
    const socket = await beginWrite(`late_${signal}`, body.length)

    server.signal(signal)
    await until(
      () => refusesConnections(server.url),
      (refused) => refused,
    )
    for (const again of SIGNALS) server.signal(again)
    socket.write(body)
    expect(await readAnswer(socket)).toMatchObject({ status: 201 })
    await expectOrderlyEnd()
    await Promise.all(closed)
    await restart()
    expect((await server.fetch(`/workflows/tools/defs/late_${signal}`)).status).toBe(200)
  },
)

test('the end of npm start ends the server, and a request that never ends does not keep it for ever', async () => {
  await running()
  const socket = await beginWrite('never', 100)
  server.parentPipe.destroy()
  await once(server.parentPipe, 'close')
  await expectOrderlyEnd()
  socket.destroy()
})
