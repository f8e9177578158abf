import { afterAll, expect, jest, test } from '@jest/globals'
import { definitionDigest } from '@toolrack/contract'
import type { ToolDefinition } from '@toolrack/contract'
import type { ToolChanges } from '../../functions/src/features/changes/tool-changes.ts'
import { join } from 'node:path'
import { EventStream } from '../../functions/src/http/event-stream.ts'
import { SqliteDefinitionStore } from '../../functions/src/stores/sqlite/sqlite-definition-store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { by, put, remove, tool } from '../support/definition-changes.ts'
import { feedReader } from '../support/change-events.ts'
import { inProcess } from '../support/in-process.ts'
import { signed, NOW } from '../support/signed-tokens.ts'
import { deployedAccess, FIREBASE, JOB, OIDC } from '../support/token-kinds.ts'
import { until } from '../support/until.ts'

let now = NOW
let globalReads = 0
const folder = temporaryFolder()
/** A store on the file that all instances share. */
const openStore = () => new SqliteDefinitionStore(join(folder.path, 'toolrack.db'))

function counting(store: SqliteDefinitionStore): SqliteDefinitionStore {
  const layer = store.layer.bind(store)
  store.layer = (stored) => {
    const source = layer(stored)
    if (stored.kind === 'user') return source
    return { read: (since) => ((globalReads += 1), source.read(since)) }
  }
  return store
}

const instance = () =>
  inProcess(
    deployedAccess(() => now),
    [tool('inFile')],
    () => now,
    {
      store: () => counting(openStore()),
      isBehindBuffer: ({ headers }) => headers['x-forwarded-host'] !== undefined,
    },
  )
const service = await instance()
const other = openStore()
afterAll(async () => {
  await other.close()
  await service[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const EVENTS = { Accept: 'text/event-stream' }
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
const as = (uid: string, claims = {}) => bearer(signed(FIREBASE, { sub: uid, ...claims }))

type Init = { method?: string; body?: string; headers?: Record<string, string>; signal?: AbortSignal }

function ask(uid: string, path: string, init: Init = {}): Promise<Response> {
  return fetch(`${service.url}/workflows${path}`, { ...init, headers: { ...as(uid), ...init.headers } })
}

async function write(uid: string, definition: ToolDefinition): Promise<void> {
  const body = JSON.stringify(definition)
  const answer = await ask(uid, `/tools/defs/${definition.function.name}`, { method: 'PUT', body })
  expect([200, 201]).toContain(answer.status)
}

const changesOf = async (answer: Response): Promise<ToolChanges> => (await answer.json()) as ToolChanges

const some = (from: number) => Array.from({ length: 150 }, (_, index) => put(tool(`t${from + index}`)))

async function feedOf(url: string, headers: Record<string, string>) {
  return feedReader(await fetch(`${service.url}${url}`, { headers: { ...EVENTS, ...headers } }))
}

/** The revision that a list names. */
async function revision(uid: string): Promise<string> {
  const list = await ask(uid, '/tools/list')
  await list.arrayBuffer()
  return list.headers.get('X-Tools-Revision') ?? ''
}

test('without since, the answer is the present revision, which a list has too', async () => {
  const answer = await changesOf(await ask('new', '/tools/changes'))
  expect(answer).toEqual({ revision: await revision('new'), added: [], changed: [], removed: [] })
})

test('a poll answers at once what has changed since the revision of a list', async () => {
  await write('poll', tool('kept'))
  await write('poll', tool('changing'))
  await write('poll', tool('going'))
  const since = await revision('poll')
  await write('poll', tool('changing', 'Other.'))
  await write('poll', tool('coming'))
  await ask('poll', '/tools/defs/going', { method: 'DELETE' })
  const answer = await changesOf(await ask('poll', `/tools/changes?since=${since}`))
  expect(answer).toEqual({
    revision: await revision('poll'),
    added: [{ name: 'coming', digest: definitionDigest(tool('coming')) }],
    changed: [{ name: 'changing', digest: definitionDigest(tool('changing', 'Other.')) }],
    removed: ['going'],
  })
  const named = await changesOf(await ask('poll', `/tools/changes?since=${since}&names=coming,kept`))
  expect(named).toMatchObject({ added: [{ name: 'coming' }], changed: [], removed: [] })
})

test('a poll waits for a write, and only for one that its caller may see', async () => {
  const since = await revision('waits')
  const waiting = ask('waits', `/tools/changes?since=${since}`)
  await until(
    () => Promise.resolve(service.feeds.state.feeds),
    (feeds) => feeds === 1,
  )
  await write('somebody', tool('theirs'))
  await write('waits', tool('mine'))
  const answer = await waiting
  expect(answer.status).toBe(200)
  expect(await changesOf(answer)).toMatchObject({ added: [{ name: 'mine' }], removed: [] })
  expect(service.feeds.state).toEqual({ feeds: 0, groups: 0, isWaiting: false })
})

test('an event has the revision as its id, and Last-Event-ID goes on from there', async () => {
  const answer = await ask('events', '/tools/changes', { headers: EVENTS })
  expect(answer.headers.get('Content-Type')).toContain('text/event-stream')
  const next = feedReader(answer)
  const first = await next()
  expect(first).toMatchObject({ event: 'changes', data: { added: [], changed: [], removed: [] } })
  await write('events', tool('one'))
  const second = await next()
  expect(second).toMatchObject({ event: 'changes', data: { added: [{ name: 'one' }] } })
  expect(second?.id).toBe(await revision('events'))
  await answer.body?.cancel().catch(() => undefined)
  await write('events', tool('two'))
  const headers = { ...EVENTS, 'Last-Event-ID': second?.id ?? '' }
  const again = feedReader(await ask('events', `/tools/changes?since=${first?.id}`, { headers }))
  expect(await again()).toMatchObject({ data: { added: [{ name: 'two' }], changed: [], removed: [] } })
})

test('another instance, or the same one after a restart, answers from the versions in the store', async () => {
  await write('moved', tool('kept'))
  await write('moved', tool('going'))
  const since = await revision('moved')
  await write('moved', tool('kept', 'Other.'))
  await ask('moved', '/tools/defs/going', { method: 'DELETE' })
  await using second = await instance()
  const answer = await fetch(`${second.url}/workflows/tools/changes?since=${since}`, { headers: as('moved') })
  expect(await changesOf(answer)).toMatchObject({
    added: [],
    changed: [{ name: 'kept', digest: definitionDigest(tool('kept', 'Other.')) }],
    removed: ['going'],
  })
})

test('a revision before more changes than are followed is a 410', async () => {
  const since = await revision('bulk')
  await other.write({ kind: 'user', uid: 'bulk' }, some(0), by('bulk'))
  const first = await until(
    () => revision('bulk'),
    (present) => present !== since,
  )
  const more = [...some(150), put(tool('t0', 'Other.'))]
  await other.write({ kind: 'user', uid: 'bulk' }, more, by('bulk'))
  const third = await until(
    () => revision('bulk'),
    (present) => present !== first,
  )
  const recent = await changesOf(await ask('bulk', `/tools/changes?since=${first}`))
  expect(recent).toMatchObject({ changed: [{ name: 't0' }] })
  expect(recent.added).toHaveLength(150)
  await other.write({ kind: 'user', uid: 'bulk' }, some(300), by('bulk'))
  await until(
    () => revision('bulk'),
    (present) => present !== third,
  )
  expect((await ask('bulk', `/tools/changes?since=${first}`)).status).toBe(410)
})

test.each([
  ['of another store', '3-aaaaaaaaaaaa.0.f1'],
  ['of the future', ''],
  ['of a list that lacked a layer', 'lost.0.f1'],
  ['of another file layer', '0.0.f0'],
  ['of a job token', '0.0.f1.aaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb'],
  ['with rules that nobody knows', '0.0.f1.aaaaaaaaaaaaaaaa'],
])('a revision %s is a 410 for a poll, and a reset for a reader of events', async (_what, given) => {
  await write('gone', tool('one'))
  const present = await revision('gone')
  const since = given || present.replace(/^\d+/, '999')
  const poll = await ask('gone', `/tools/changes?since=${since}`)
  expect(poll.status).toBe(410)
  expect(await poll.text()).toContain('REVISION_UNKNOWN')
  const next = feedReader(await ask('gone', `/tools/changes?since=${since}`, { headers: EVENTS }))
  expect(await next()).toEqual({ id: present, event: 'reset', data: { revision: present } })
  await write('gone', tool('after', `After ${since}.`))
  expect(await next()).toMatchObject({ event: 'changes' })
})

test.each(['x', '', '0.0', '0.0.f1.a.b.c', 'a%20b.0.f1', `0.0.${'1'.repeat(600)}`])(
  'since=%s is no revision',
  async (since) => {
    const answer = await ask('ann', `/tools/changes?since=${since}`)
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('X-Tools-Revision')
  },
)

test('a Last-Event-ID that is no revision is a 400', async () => {
  const answer = await ask('ann', '/tools/changes', { headers: { ...EVENTS, 'Last-Event-ID': 'x' } })
  expect(answer.status).toBe(400)
})

test('behind a proxy that buffers, events are a 406, unless JSON is accepted too', async () => {
  const hosting = { 'X-Forwarded-Host': 'x' }
  const refused = await ask('ann', '/tools/changes', { headers: { ...EVENTS, ...hosting } })
  expect(refused.status).toBe(406)
  const Accept = 'text/event-stream, application/json;q=0.9'
  const polled = await ask('ann', '/tools/changes', { headers: { Accept, ...hosting } })
  expect(await changesOf(polled)).toMatchObject({ added: [] })
})

test('a rule that hides a tool removes it, and the job token of another tool is told nothing', async () => {
  await write('ruled', tool('secret'))
  await write('ruled', tool('open'))
  const granted = { name: 'open', digest: definitionDigest(tool('open')) }
  const job = bearer(signed(JOB, { uid: 'ruled', tools: [granted], jti: '9' }))
  const user = await feedOf('/workflows/tools/changes', as('ruled'))
  const token = await feedOf('/jobs/tools/changes', job)
  await user()
  await token()
  const rules = JSON.stringify({ rules: [{ effect: 'deny', tool: 'secret' }] })
  expect((await ask('ruled', '/rules/user/ruled', { method: 'PUT', body: rules })).status).toBeLessThan(300)
  expect(await user()).toMatchObject({ data: { added: [], changed: [], removed: ['secret'] } })
  await write('ruled', tool('secret', 'Hidden anyway.'))
  await write('ruled', tool('open', 'Not what was granted.'))
  expect(await user()).toMatchObject({ data: { added: [], changed: [{ name: 'open' }], removed: [] } })
  expect(await token()).toMatchObject({ data: { added: [], changed: [], removed: ['open'] } })
})

test('a job token with a session is told of what both have, and nobody follows the session of another user', async () => {
  const names = ['granted', 'selected', 'both']
  for (const name of names) await write('mixed', tool(name))
  const select = (selection: readonly string[]) =>
    ask('mixed', '/sessions/s', { method: 'PUT', body: JSON.stringify({ selection }) })
  expect((await select(['selected', 'both'])).status).toBe(201)
  const tools = ['granted', 'both'].map((name) => ({ name, digest: definitionDigest(tool(name)) }))
  const job = bearer(signed(JOB, { uid: 'mixed', tools, jti: '10' }))
  const next = await feedOf('/jobs/tools/changes?session=s', job)
  await next()
  await select(['granted'])
  expect(await next()).toMatchObject({
    data: { added: [{ name: 'granted' }], changed: [], removed: ['both'] },
  })
  await select(names)
  expect(await next()).toMatchObject({ data: { added: [{ name: 'both' }], changed: [], removed: [] } })
  const stranger = await ask('bob', '/tools/changes?session=s')
  expect(stranger.status).toBe(404)
})

test('a feed ends when its token does', async () => {
  const answer = await ask('expires', '/tools/changes', { headers: EVENTS })
  const next = feedReader(answer)
  await next()
  now += 3_600_000
  expect(await next()).toBeUndefined()
  now = NOW
})

test('one user has at most 100 feeds, a caller who has gone gives the place back, and others have theirs', async () => {
  const leaving = new AbortController()
  const { signal } = leaving
  const open = () => ask('many', '/tools/changes', { headers: EVENTS, signal })
  await Promise.all(Array.from({ length: 100 }, open))
  const refused = await ask('many', '/tools/changes', { headers: EVENTS })
  expect(refused.status).toBe(429)
  expect(await refused.text()).toContain('100 change feeds')
  expect((await ask('other', '/tools/changes')).status).toBe(200)
  leaving.abort()
  await until(
    () => Promise.resolve(service.feeds.state.feeds),
    (feeds) => feeds === 0,
  )
  expect((await ask('many', '/tools/changes')).status).toBe(200)
})

/** Runs `act`, and counts the turns of the event loop in which events were written meanwhile. */
async function turnsWithEvents(act: () => Promise<unknown>): Promise<number> {
  const send = jest.spyOn(EventStream.prototype, 'send')
  const written = new Set<number>()
  let isOver = false
  function tick(): void {
    written.add(send.mock.calls.length)
    if (!isOver) setImmediate(tick)
  }
  tick()
  await act()
  isOver = true
  written.add(send.mock.calls.length)
  send.mockRestore()
  return written.size - 1
}

test('the events of feeds that are woken together are written in turns of their own', async () => {
  const leaving = new AbortController()
  const { signal } = leaving
  const open = async () => feedReader(await ask('turns', '/tools/changes', { headers: EVENTS, signal }))
  const feeds = await Promise.all(Array.from({ length: 20 }, open))
  await Promise.all(feeds.map((next) => next()))
  const turns = await turnsWithEvents(async () => {
    await write('turns', tool('one'))
    await Promise.all(feeds.map((next) => next()))
  })
  expect(turns).toBe(20)
  leaving.abort()
})

test('a thousand feeds all get an event, and ask for a layer once a second like one feed', async () => {
  const job = bearer(signed(OIDC))
  const users = Array.from({ length: 10 }, (_, index) => `u${index}`)
  const leaving = new AbortController()
  const feeds = await Promise.all(
    users.flatMap((uid) =>
      Array.from({ length: 100 }, async () => {
        const headers = { ...EVENTS, ...job, 'X-User-Id': uid }
        return feedReader(
          await fetch(`${service.url}/jobs/tools/changes`, { headers, signal: leaving.signal }),
        )
      }),
    ),
  )
  const first = await Promise.all(feeds.map((next) => next()))
  expect(first.every((event) => event?.event === 'changes')).toBe(true)
  expect(service.feeds.state).toMatchObject({ feeds: 1_000, groups: 10 })
  const refused = await ask('late', '/tools/changes')
  expect(refused.status).toBe(429)
  const [readsBefore, sinceMs] = [globalReads, performance.now()]
  await other.write({ kind: 'global' }, [put(tool('forAll'))], by('boss'))
  const seen = await Promise.all(feeds.map((next) => next()))
  expect(seen.filter((event) => event?.data.added[0]?.name === 'forAll')).toHaveLength(1_000)
  const seconds = (performance.now() - sinceMs) / 1_000
  expect(globalReads - readsBefore).toBeLessThanOrEqual(seconds + 2)
  leaving.abort()
  await until(
    () => Promise.resolve(service.feeds.state.feeds),
    (count) => count === 0,
  )
  await other.write({ kind: 'global' }, [remove('forAll')], by('boss'))
  expect(service.feeds.state).toEqual({ feeds: 0, groups: 0, isWaiting: false })
})
