import { expect } from '@jest/globals'
import type { InvocationResult, JsonObject } from '@toolrack/contract'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { errorAnswer } from '../support/error-answer.ts'
import { Server } from '../support/server.ts'
import { onSmallDisk, withSmallDisk } from '../support/small-disk.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { listedNames, post, put, tool } from '../support/tool.ts'

/** A file of 600 kB that can be removed to make room. */
const FILLER = 'head -c 600000 /dev/zero > "$0/filler"'

function big(name: string): JsonObject {
  return tool(name, 'x'.repeat(16_000))
}

withSmallDisk(
  'on a full disk writes are a 503 that says so, lists go on, and writes come back with room',
  async () => {
    using folder = temporaryFolder()
    const disk = join(folder.path, 'disk')
    mkdirSync(disk)
    await using server = await Server.start({
      data: join(disk, 'data'),
      through: onSmallDisk(disk, 2, FILLER),
    })
    /** The small disk as the server sees it. */
    const seen = join('/proc', String(server.pid), 'root', disk)

    const written: string[] = []
    let refused: Response | undefined
    while (!refused && written.length < 200) {
      const name = `big_${written.length}`
      const answer = await put(server, name, big(name))
      if (answer.ok) written.push(name)
      else refused = answer
    }
    expect(refused?.headers.get('retry-after')).toBe('1')
    expect(refused && (await errorAnswer(refused))).toMatchObject({
      httpStatus: 503,
      reason: 'STORE_FULL',
      message: 'The disk of the store is full; nothing was written.',
    })
    expect(written.length).toBeGreaterThan(5)

    const bulk = Array.from({ length: 50 }, (_, index) => big(`bulk_${index}`))
    expect((await post(server, bulk)).status).toBe(503)
    expect((await post(server, bulk, 'layer=global')).status).toBe(503)
    const own = async () =>
      (await listedNames(server, 'strict=1')).filter((name) => /^(big|bulk|after)_/.test(name))
    expect(await own()).toEqual(written.toSorted())

    rmSync(join(seen, 'filler'))
    expect((await put(server, 'after_room', tool('after_room'))).status).toBe(201)
    expect((await post(server, bulk.slice(0, 3))).status).toBe(200)
    expect(await own()).toEqual([...written, 'after_room', 'bulk_0', 'bulk_1', 'bulk_2'].toSorted())

    const copy = join(folder.path, 'copy')
    cpSync(join(seen, 'data'), copy, { recursive: true })
    using database = new DatabaseSync(join(copy, 'toolrack.db'))
    expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    const stored = database.prepare('SELECT name FROM definitions WHERE text IS NOT NULL ORDER BY name')
    expect(stored.all().map(({ name }) => name)).toEqual(await own())
  },
)

/** Counts what ECHO runs, in a file on another disk. */
const COUNT = fileURLToPath(new URL('../support/kill-at-place.ts', import.meta.url))

/** More than a page of a database, so that no change fits into room that a file has left. */
const long = (text: string): string => `${text} ${'x'.repeat(8_000)}`

/** Fills the disk as another program would. Returns what makes room again. */
function fill(disk: string): () => void {
  const folder = join(disk, 'other')
  mkdirSync(folder)
  try {
    for (let index = 0; ; index += 1) writeFileSync(join(folder, String(index)), Buffer.alloc(4_096))
  } catch (error) {
    expect(error).toMatchObject({ code: 'ENOSPC' })
  }
  return () => rmSync(folder, { recursive: true })
}

for (const mode of ['on', 'required'])
  withSmallDisk(
    `a full disk, with TOOLRACK_AUDIT=${mode}: what cannot be kept is refused and not run, and all goes on with room`,
    async () => {
      using folder = temporaryFolder()
      const file = (name: string): string => join(folder.path, name)
      const disk = file('disk')
      mkdirSync(disk)
      writeFileSync(file('place'), '')
      writeFileSync(file('rules.json'), JSON.stringify({ rules: [{ effect: 'ask', tool: 'ECHO' }] }))
      await using server = await Server.start({
        data: join(disk, 'data'),
        through: onSmallDisk(disk, 4),
        env: {
          NODE_OPTIONS: `--import=${COUNT}`,
          KILL_FOLDER: folder.path,
          TOOLRACK_RULES_FILE: file('rules.json'),
          TOOLRACK_AUDIT: mode,
        },
      })
      /** The small disk as the server sees it. */
      const seen = join('/proc', String(server.pid), 'root', disk)
      const approver = {
        Authorization: `Bearer ${readFileSync(join(seen, 'data', 'approver-token'), 'utf8').trim()}`,
      }
      const executions = (): number =>
        existsSync(file('executions')) ? readFileSync(file('executions'), 'utf8').split('\n').length - 1 : 0

      async function send(method: string, path: string, body?: unknown, headers: object = approver) {
        const init = {
          method,
          headers: { ...headers },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        }
        const answer = await server.fetch(path, init)
        return { status: answer.status, text: await answer.text() }
      }
      async function invoke(text: string, more: { approval?: string; key?: string } = {}) {
        const { approval, key } = more
        const body = { name: 'ECHO', arguments: { text: long(text) }, approval }
        const headers = key === undefined ? {} : { 'Idempotency-Key': key }
        const { text: answer } = await send('POST', '/workflows/tools/invoke', body, headers)
        const result = JSON.parse(answer) as InvocationResult
        const { replayed, approval: asked } = result.meta
        const end = replayed ? 'replayed' : 'run'
        return { end: result.resultType === 'failure' ? result.code : end, id: asked?.id ?? '' }
      }
      const decide = (id: string) => send('POST', `/workflows/approvals/${id}`, { decision: 'once' })
      const rule = (tool: string) =>
        send('PUT', '/workflows/rules/user/local', {
          rules: Array.from({ length: 50 }, (_, index) => ({
            effect: 'deny',
            tool: `${tool}_${index}_${'x'.repeat(80)}`,
            future: true,
          })),
        })

      const [first, second] = [await invoke('first'), await invoke('second')]
      await decide(first.id)
      const makeRoom = fill(seen)

      // Approvals, decisions, rules and keys are refused with a reason, and nothing is run.
      const full = expect.stringMatching(/STORE_FULL|AUDIT_UNAVAILABLE/)
      expect(await invoke('third')).toEqual({ end: full, id: '' })
      expect(await decide(second.id)).toEqual({ status: 503, text: full })
      expect(await rule('before')).toEqual({ status: 503, text: full })
      const call = { approval: first.id, key: 'first' }
      expect((await invoke('first', call)).end).toEqual(full)
      expect(executions()).toBe(0)
      // What needs no store goes on, unless it must be recorded.
      const time = await send('POST', '/workflows/tools/invoke', { name: 'GET_TIME', arguments: {} })
      expect([time.status, time.text]).toEqual(
        mode === 'required' ? [503, expect.stringContaining('AUDIT_UNAVAILABLE')] : [200, expect.any(String)],
      )
      const kept = await send('GET', '/workflows/tools/invocations?tool=GET_TIME')
      expect(kept).toEqual({ status: 200, text: expect.stringContaining('GET_TIME') })
      const health = await send('GET', '/health')
      expect((JSON.parse(health.text) as { audit: unknown }).audit).toMatchObject({
        lost: expect.any(Number),
      })
      expect(health.text).not.toContain('"lost":0')

      makeRoom()
      expect([await invoke('first', call), await invoke('first', call)]).toMatchObject([
        { end: 'run' },
        { end: 'replayed' },
      ])
      expect(await invoke('first', { ...call, key: 'other' })).toMatchObject({ end: 'APPROVAL_CONFLICT' })
      expect((await decide(second.id)).status).toBe(200)
      expect(await invoke('second', { approval: second.id })).toMatchObject({ end: 'run' })
      expect((await rule('after')).status).toBe(201)
      expect(executions()).toBe(2)
      const verified = await send('GET', '/workflows/audit/verify')
      expect(JSON.parse(verified.text)).toMatchObject({ ok: true, fault: null })
      const records = await send('GET', '/workflows/audit?limit=100')
      expect(records.text).toContain('"lostBefore":')
    },
  )
