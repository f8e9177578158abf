import { expect, test } from '@jest/globals'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { artifactKey } from '../../functions/src/features/artifacts/artifact-bytes.ts'
import { KEPT_MS, type Artifact } from '../../functions/src/features/artifacts/artifact.ts'
import { Server } from '../support/server.ts'
import { until } from '../support/until.ts'

const HOUR_MS = 60 * 60 * 1_000

async function upload(server: Server, body: string | Uint8Array<ArrayBuffer>): Promise<Artifact> {
  const answer = await server.fetch('/workflows/artifacts', {
    method: 'POST',
    body,
    headers: { 'Content-Type': 'text/plain', 'X-Name': 'a.txt' },
  })
  expect(answer.status).toBe(201)
  return (await answer.json()) as Artifact
}

const unfinishedIn = ({ data }: Server): string[] => readdirSync(join(data, 'artifacts', 'unfinished'))

test('artifacts outlive a killed server, and an upload that it was receiving leaves nothing', async () => {
  await using server = await Server.start()
  const kept = await upload(server, 'kept')
  const linked = await server.fetch(`/workflows/artifacts/${kept.id}/link`, { method: 'POST' })
  const { url } = (await linked.json()) as { url: string }
  const sending = request(`${server.url}/workflows/artifacts`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${server.token}`, 'Content-Length': String(99 * 1024 * 1024) },
  })
  sending.on('error', () => undefined)
  sending.write(Buffer.alloc(1024 * 1024))
  await until(
    () => Promise.resolve(unfinishedIn(server)),
    (names) => names.length === 1,
  )
  await server.kill9()
  await server.restart()
  expect(unfinishedIn(server)).toEqual([])
  expect(await (await server.fetch(`/workflows/artifacts/${kept.id}`)).text()).toBe('kept')
  expect(await (await server.fetch('/workflows/artifacts')).json()).toMatchObject({ items: [kept] })
  // The upload had reserved nearly all the room of its user.
  await upload(server, Buffer.alloc(2 * 1024 * 1024))
  // The key that seals links is in the data folder.
  expect(await (await fetch(server.url + url)).text()).toBe('kept')
})

test('a start removes expired bytes, and no others', async () => {
  await using server = await Server.start()
  const kept = await upload(server, 'kept')
  await server.stop()
  const folder = join(server.data, 'artifacts')
  const [old, young] = [KEPT_MS + 2 * HOUR_MS, KEPT_MS - HOUR_MS].map((ageMs) =>
    artifactKey(Date.now() - ageMs),
  )
  for (const key of [old, young]) {
    mkdirSync(join(folder, key?.slice(0, 6) ?? ''), { recursive: true })
    writeFileSync(join(folder, key?.slice(0, 6) ?? '', key ?? ''), 'x')
  }
  await server.restart()
  const path = (key = '') => join(folder, key.slice(0, 6), key)
  await until(
    () => Promise.resolve(existsSync(path(old))),
    (isThere) => !isThere,
  )
  expect([path(young), path(kept.id)].map((one) => existsSync(one))).toEqual([true, true])
  expect(statSync(folder).mode & 0o777).toBe(0o700)
})

test('a file of 75 MB is received and sent, and is never whole in memory', async () => {
  await using server = await Server.start()
  async function uploadAndRead(megabytes: number): Promise<void> {
    const content = Buffer.alloc(megabytes * 1024 * 1024, 'a line of a large file\n')
    const artifact = await upload(server, content)
    let bytes = 0
    const answer = await server.fetch(`/workflows/artifacts/${artifact.id}`)
    for await (const piece of answer.body ?? []) bytes += (piece as Uint8Array).length
    expect([artifact.bytes, bytes]).toEqual([content.length, content.length])
  }
  await uploadAndRead(20)
  const before = peakMegabytes(server.pid)
  await uploadAndRead(75)
  // A server that gathers the pieces needs twice the size of a file for a while: 110 MB more than for the first one.
  expect(peakMegabytes(server.pid) - before).toBeLessThan(70)
  const full = await server.fetch('/workflows/artifacts', {
    method: 'POST',
    body: Buffer.alloc(6 * 1024 * 1024),
  })
  expect(await full.json()).toMatchObject({ error: { details: [{ reason: 'ITEMS_FULL' }] } })
})

/** The most memory that a process has had, in megabytes. */
function peakMegabytes(pid: number): number {
  const [, kilobytes = '0'] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}
