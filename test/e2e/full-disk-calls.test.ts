import { expect } from '@jest/globals'
import type { InvocationResult } from '@toolrack/contract'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Server } from '../support/server.ts'
import { onSmallDisk, withSmallDisk } from '../support/small-disk.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

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
