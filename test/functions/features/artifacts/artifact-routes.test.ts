import { afterAll, expect, test } from '@jest/globals'
import { definitionDigest } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { KEPT_MS, type Artifact } from '../../../../functions/src/features/artifacts/artifact.ts'
import { LINK_MS } from '../../../../functions/src/features/artifacts/artifact-links.ts'
import { ArtifactFiles } from '../../../../functions/src/stores/files/artifact-files.ts'
import { errorAnswer } from '../../../support/error-answer.ts'
import { inProcess } from '../../../support/in-process.ts'
import { memoryAudit } from '../../../support/memory-audit.ts'
import { shippedTool } from '../../../support/shipped-tool.ts'
import { NOW, signed } from '../../../support/signed-tokens.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { deployedAccess, FIREBASE, JOB, OIDC } from '../../../support/token-kinds.ts'
import { until } from '../../../support/until.ts'

const ECHO = shippedTool('echo')
const folder = temporaryFolder()
const clock = { nowMs: NOW }
const service = await inProcess(
  deployedAccess(() => NOW),
  [ECHO],
  () => clock.nowMs,
  { artifactBytes: new ArtifactFiles(folder.path), audit: memoryAudit({ now: () => NOW }) },
)
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
const CALLERS = {
  ann: bearer(signed(FIREBASE, { sub: 'ann' })),
  bob: bearer(signed(FIREBASE, { sub: 'bob' })),
  admin: bearer(signed(FIREBASE, { sub: 'root', toolrackAdmin: true })),
  account: { ...bearer(signed(OIDC)), 'X-User-Id': 'ann' },
  token: bearer(signed(JOB, { uid: 'ann', tools: [{ name: 'ECHO', digest: definitionDigest(ECHO) }] })),
} as const
type Who = keyof typeof CALLERS

type Sent = { readonly body?: string | Uint8Array<ArrayBuffer>; readonly headers?: Record<string, string> }

function ask(who: Who, method: string, path: string, { body, headers }: Sent = {}): Promise<Response> {
  const family = who === 'account' || who === 'token' ? 'jobs' : 'workflows'
  return fetch(`${service.url}/${family}${path}`, {
    method,
    headers: { ...CALLERS[who], ...headers },
    body: body ?? null,
  })
}

async function upload(
  who: Who,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
) {
  const answer = await ask(who, 'POST', '/artifacts', { body, headers })
  expect(answer.status).toBe(201)
  return (await answer.json()) as Artifact
}

const read = (who: Who, { id }: Pick<Artifact, 'id'>, headers: Record<string, string> = {}) =>
  ask(who, 'GET', `/artifacts/${id}`, { headers })

function* nineMegabytes(): Generator<Uint8Array> {
  for (let sent = 0; sent < 9; sent += 1) yield Buffer.alloc(1024 * 1024)
}

const filesLeft = () =>
  readdirSync(folder.path).flatMap((name) => readdirSync(join(folder.path, name))).length

test('a file is uploaded, read, listed and deleted', async () => {
  const text = 'a,b\n1,2\n'
  const artifact = await upload('ann', text, {
    'Content-Type': 'text/csv; charset=utf-8',
    'X-Name': 'a%20b.csv',
  })
  expect(artifact).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    bytes: 8,
    sha256: createHash('sha256').update(text).digest('hex'),
    type: 'text/csv',
    name: 'a b.csv',
    createdAt: new Date(NOW).toISOString(),
    expiresAt: new Date(NOW + KEPT_MS).toISOString(),
    invocationId: null,
    tool: null,
  })
  const answer = await read('ann', artifact)
  expect([answer.status, await answer.text()]).toEqual([200, text])
  expect(await (await ask('ann', 'GET', '/artifacts')).json()).toMatchObject({ items: [artifact] })
  expect((await ask('ann', 'DELETE', `/artifacts/${artifact.id}`)).status).toBe(204)
  expect((await read('ann', artifact)).status).toBe(404)
  expect((await ask('ann', 'DELETE', `/artifacts/${artifact.id}`)).status).toBe(404)
  expect(await (await ask('ann', 'GET', '/artifacts')).json()).toEqual({ items: [], cursor: null })
  expect(filesLeft()).toBe(0)
})

test('an empty file is kept', async () => {
  const artifact = await upload('ann', new Uint8Array())
  expect(artifact).toMatchObject({ bytes: 0, type: 'application/octet-stream', name: 'artifact' })
  const answer = await read('ann', artifact)
  expect([answer.status, answer.headers.get('content-length'), await answer.text()]).toEqual([200, '0', ''])
  expect((await read('ann', artifact, { Range: 'bytes=0-0' })).status).toBe(416)
})

test('an artifact of another user is answered as one that never was, on every route', async () => {
  const { id } = await upload('ann', 'of ann')
  const never = '019b7d2a-0000-7000-8000-000000000000'
  for (const who of ['bob', 'admin'] as const)
    for (const [method, path] of [
      ['GET', ''],
      ['HEAD', ''],
      ['DELETE', ''],
      ['POST', '/link'],
    ] as const) {
      const [other, none] = await Promise.all(
        [id, never].map(async (one) => {
          const answer = await ask(who, method, `/artifacts/${one}${path}`)
          return [answer.status, await answer.text()]
        }),
      )
      expect(other?.[0]).toBe(404)
      expect(other).toEqual(none)
    }
  expect(await (await ask('bob', 'GET', '/artifacts')).json()).toEqual({ items: [], cursor: null })
  expect(await (await read('ann', { id })).text()).toBe('of ann')
})

test('a job of an account has the artifacts of its user, and a job token has none of their uploads', async () => {
  const artifact = await upload('ann', 'of ann')
  expect(await (await read('account', artifact)).text()).toBe('of ann')
  expect((await read('token', artifact)).status).toBe(404)
  expect(await (await ask('token', 'GET', '/artifacts')).json()).toMatchObject({ items: [] })
  for (const [method, path] of [
    ['POST', '/artifacts'],
    ['DELETE', `/artifacts/${artifact.id}`],
    ['POST', `/artifacts/${artifact.id}/link`],
  ] as const)
    expect(await errorAnswer(await ask('token', method, path))).toMatchObject({ reason: 'PERMISSION_DENIED' })
})

test('what is no id is not found', async () => {
  for (const id of ['x', '..%2F..%2Ftoken', '%00', '019B7D2A-0000-7000-8000-000000000000', 'a'.repeat(5_000)])
    expect((await ask('ann', 'GET', `/artifacts/${id}`)).status).toBe(404)
})

test('parts of a file are read', async () => {
  const artifact = await upload('ann', '0123456789')
  const etag = `"sha256:${artifact.sha256}"`
  const parts: readonly (readonly [Record<string, string>, number, string, string | null])[] = [
    [{ Range: 'bytes=2-4' }, 206, '234', 'bytes 2-4/10'],
    [{ Range: 'bytes=7-' }, 206, '789', 'bytes 7-9/10'],
    [{ Range: 'bytes=7-99' }, 206, '789', 'bytes 7-9/10'],
    [{ Range: 'bytes=-3' }, 206, '789', 'bytes 7-9/10'],
    [{ Range: 'bytes=-99' }, 206, '0123456789', 'bytes 0-9/10'],
    [{ Range: 'bytes=10-' }, 416, '', 'bytes */10'],
    [{ Range: 'bytes=-0' }, 416, '', 'bytes */10'],
    [{ Range: 'bytes=4-2' }, 200, '0123456789', null],
    [{ Range: 'bytes=0-1,4-5' }, 200, '0123456789', null],
    [{ Range: 'lines=0-1' }, 200, '0123456789', null],
    [{ Range: 'bytes=2-4', 'If-Range': etag }, 206, '234', 'bytes 2-4/10'],
    [{ Range: 'bytes=2-4', 'If-Range': '"sha256:0"' }, 200, '0123456789', null],
  ]
  for (const [headers, status, text, range] of parts) {
    const answer = await read('ann', artifact, headers)
    expect([headers, answer.status, await answer.text(), answer.headers.get('content-range')]).toEqual([
      headers,
      status,
      text,
      range,
    ])
  }
  expect((await read('ann', artifact, { 'If-None-Match': etag })).status).toBe(304)
  const head = await ask('ann', 'HEAD', `/artifacts/${artifact.id}`)
  expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '10', ''])
})

test.each([
  ['image/png', 'image/png', 'inline'],
  ['IMAGE/JPEG', 'image/jpeg', 'inline'],
  ['text/plain; charset=iso-8859-1', 'text/plain; charset=utf-8', 'inline'],
  ['text/html', 'application/octet-stream', 'attachment'],
  ['image/svg+xml', 'application/octet-stream', 'attachment'],
  ['application/pdf', 'application/octet-stream', 'attachment'],
  ['application/xhtml+xml', 'application/octet-stream', 'attachment'],
  ['text/javascript', 'application/octet-stream', 'attachment'],
])('a page that is called %s is served as %s, and can run nothing', async (type, served, disposition) => {
  const artifact = await upload('ann', '<script>alert(1)</script>', {
    'Content-Type': type,
    'X-Name': 'x.html',
  })
  const answer = await read('ann', artifact)
  await answer.text()
  expect(answer.headers.get('content-type')).toBe(served)
  expect(answer.headers.get('content-disposition')).toMatch(
    new RegExp(`^${disposition}; filename="x.html"; `),
  )
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  expect(answer.headers.get('content-security-policy')).toMatch(/^sandbox; default-src 'none'/)
  expect(answer.headers.get('cache-control')).toBe('private, no-store')
})

test.each<[string, string, string]>([
  ['a path', '%2Fetc%2Fpasswd', 'passwd'],
  ['a path of Windows', 'C%3A%5Ctemp%5Cx.txt', 'x.txt'],
  ['a folder above', '..%2F..', 'artifact'],
  ['control characters', 'a%00%0d%0ab%1b.txt', 'ab.txt'],
  ['a text that is written from right to left', 'gpj.%E2%80%AEexe', 'gpj.exe'],
  ['300 characters', `${'x'.repeat(296)}.png`, `${'x'.repeat(196)}.png`],
  ['other letters', '%F0%9F%8C%A7%EF%B8%8F%20%C3%BC.png', '🌧️ ü.png'],
  ['half of an escape', '100%', '100%'],
  ['nothing', '', 'artifact'],
])('a name that is %s is cleaned', async (_what, header, name) => {
  const artifact = await upload('ann', 'x', { 'X-Name': header })
  expect(artifact.name).toBe(name)
  const answer = await read('ann', artifact)
  expect(answer.headers.get('content-disposition')).toMatch(/^[ -~]+$/)
  expect(await answer.text()).toBe('x')
})

test.each<[string, Record<string, string>, string]>([
  ['a type that is none', { 'Content-Type': 'pdf' }, 'HEADER_INVALID'],
  ['a type with another line', { 'Content-Type': 'text/html,x' }, 'HEADER_INVALID'],
  ['a compressed body', { 'Content-Encoding': 'gzip' }, 'HEADER_INVALID'],
])('an upload is refused that has %s', async (_what, headers, reason) => {
  expect(await errorAnswer(await ask('ann', 'POST', '/artifacts', { body: 'x', headers }))).toMatchObject({
    reason,
  })
})

test('an upload that is too large is refused before it is sent, and one of unknown size at its limit', async () => {
  const announced = await new Promise<number | undefined>((resolve, reject) => {
    const sending = request(`${service.url}/workflows/artifacts`, {
      method: 'POST',
      headers: { ...CALLERS.ann, 'Content-Length': String(100 * 1024 * 1024 + 1) },
    })
    sending.on('response', ({ statusCode }) => resolve(statusCode)).on('error', reject)
    sending.write('x')
  })
  expect(announced).toBe(413)
  const before = filesLeft()
  const answer = await fetch(`${service.url}/workflows/artifacts`, {
    method: 'POST',
    headers: CALLERS.ann,
    body: ReadableStream.from(nineMegabytes()),
    duplex: 'half',
  })
  expect(await errorAnswer(answer)).toMatchObject({ reason: 'BODY_TOO_LARGE' })
  expect(filesLeft()).toBe(before)
})

test('an upload that breaks off leaves nothing, and its room is free again', async () => {
  const before = filesLeft()
  const sending = request(`${service.url}/workflows/artifacts`, {
    method: 'POST',
    headers: { ...CALLERS.bob, 'Content-Length': String(100 * 1024 * 1024) },
  })
  sending.on('error', () => undefined)
  sending.write(Buffer.alloc(100_000))
  await expectEventually(() => filesLeft() === before + 1)
  expect(await errorAnswer(await ask('bob', 'POST', '/artifacts', { body: 'x' }))).toMatchObject({
    reason: 'ITEMS_FULL',
  })
  sending.destroy()
  await expectEventually(() => filesLeft() === before)
  await expectEventually(async () => (await ask('bob', 'POST', '/artifacts', { body: 'x' })).status === 201)
})

async function expectEventually(isSo: () => boolean | Promise<boolean>): Promise<void> {
  await until(async () => isSo(), Boolean)
}

test('a link reads the artifact without a token, for ten minutes and not longer', async () => {
  const artifact = await upload('ann', 'of ann', { 'Content-Type': 'text/plain' })
  const answer = await ask('ann', 'POST', `/artifacts/${artifact.id}/link`)
  const { url, expiresAt } = (await answer.json()) as { url: string; expiresAt: string }
  expect(expiresAt).toBe(new Date(NOW + LINK_MS).toISOString())
  expect(url).not.toContain('ann')
  const linked = await fetch(service.url + url)
  expect([linked.status, await linked.text()]).toEqual([200, 'of ann'])
  expect(linked.headers.get('content-security-policy')).toMatch(/^sandbox/)
  const part = await fetch(service.url + url, { headers: { Range: 'bytes=3-5' } })
  expect([part.status, await part.text()]).toEqual([206, 'ann'])
  expect(await (await fetch(service.url + url.replace('/workflows', ''))).text()).toBe('of ann')
  try {
    clock.nowMs = NOW + LINK_MS
    expect((await fetch(service.url + url)).status).toBe(404)
    clock.nowMs = NOW - 1
    expect((await fetch(service.url + url)).status).toBe(404)
  } finally {
    clock.nowMs = NOW
  }
  await ask('ann', 'DELETE', `/artifacts/${artifact.id}`)
  expect((await fetch(service.url + url)).status).toBe(404)
})

test('a link that was changed, or that was sealed for something else, is no link', async () => {
  const artifact = await upload('ann', 'of ann')
  const { url } = (await (await ask('ann', 'POST', `/artifacts/${artifact.id}/link`)).json()) as {
    url: string
  }
  const [start, sealed] = [url.slice(0, url.lastIndexOf('/') + 1), url.slice(url.lastIndexOf('/') + 1)]
  const others = [
    sealed.slice(0, -1) + (sealed.endsWith('A') ? 'B' : 'A'),
    `s1.${sealed.slice(4)}`,
    sealed.slice(0, 40),
    `${sealed}${'A'.repeat(600)}`,
    artifact.id,
    's1.',
  ]
  for (const other of others) expect((await fetch(service.url + start + other)).status).toBe(404)
})

test('an expired artifact is gone', async () => {
  const artifact = await upload('ann', 'old')
  try {
    clock.nowMs = NOW + KEPT_MS
    expect((await read('ann', artifact)).status).toBe(404)
    expect(await (await ask('ann', 'GET', '/artifacts')).json()).toMatchObject({ items: [] })
  } finally {
    clock.nowMs = NOW
  }
})

test('a list has pages', async () => {
  const kept = []
  for (const text of ['a', 'b', 'c']) kept.push((await upload('admin', text)).id)
  const first = await ask('admin', 'GET', '/artifacts?limit=2')
  const { items, cursor } = (await first.json()) as { items: Artifact[]; cursor: string }
  const second = (await (await ask('admin', 'GET', `/artifacts?limit=2&cursor=${cursor}`)).json()) as {
    items: Artifact[]
  }
  expect(first.headers.get('link')).toContain(cursor)
  expect([...items, ...second.items].map(({ id }) => id).toSorted()).toEqual(kept.toSorted())
  expect((await ask('admin', 'GET', '/artifacts?cursor=x')).status).toBe(400)
})

test('a service without a place for artifacts says so', async () => {
  const off = await inProcess(
    deployedAccess(() => NOW),
    [],
    () => NOW,
    { artifactBytes: undefined },
  )
  try {
    const answer = await fetch(`${off.url}/workflows/artifacts`, { headers: CALLERS.ann })
    expect(await errorAnswer(answer)).toMatchObject({ reason: 'KIND_NOT_SERVED' })
  } finally {
    await off[Symbol.asyncDispose]()
  }
})

/** Begins uploads of Ann that do not end. Resolves to them when each of them has a file, or was refused. */
async function openUploads(count: number) {
  const before = filesLeft()
  const answers: number[] = []
  const sent = Array.from({ length: count }, () => {
    const sending = request(`${service.url}/workflows/artifacts`, {
      method: 'POST',
      headers: { ...CALLERS.ann, 'Content-Length': '2' },
    })
    sending.on('response', ({ statusCode = 0 }) => answers.push(statusCode)).on('error', () => undefined)
    sending.write('a')
    return sending
  })
  await until(
    () => Promise.resolve(filesLeft() - before + answers.length),
    (begun) => begun >= count,
  )
  return { sent, answers }
}

test('a user may have 8 uploads at once, and others are not kept from theirs', async () => {
  const { sent, answers } = await openUploads(9)
  expect(answers).toEqual([429])
  // Without a body, because the connection of a refused body ends, perhaps before the client has sent it.
  const refused = await ask('ann', 'POST', '/artifacts')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
  expect(await errorAnswer(refused)).toMatchObject({ reason: 'SERVICE_BUSY' })
  await upload('bob', 'x')
  for (const one of sent) one.end('b')
  await until(
    () => Promise.resolve(answers.length),
    (ended) => ended === 9,
  )
  expect(answers.filter((status) => status === 201)).toHaveLength(8)
  await upload('ann', 'x')
})

async function statusOf(open: () => Promise<Response>): Promise<number> {
  const { status, body } = await open()
  await body?.cancel()
  return status
}

test('a user may have 16 downloads at once, and as many by links', async () => {
  const large = await upload('ann', Buffer.alloc(20 * 1024 * 1024))
  const linked = await ask('ann', 'POST', `/artifacts/${large.id}/link`)
  const { url } = (await linked.json()) as { url: string }
  const ways = [() => read('ann', large), () => fetch(service.url + url)]
  for (const open of ways) {
    const answers = []
    // A reader who takes nothing of a large answer keeps it open.
    for (let count = 0; count < 16; count += 1) answers.push(await open())
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(await statusOf(open)).toBe(429)
    for (const { body } of answers) await body?.cancel()
    await until(
      () => statusOf(open),
      (status) => status === 200,
    )
  }
  await ask('ann', 'DELETE', `/artifacts/${large.id}`)
})
