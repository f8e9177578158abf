import { afterAll, beforeEach, expect, test } from '@jest/globals'
import { ToolrackError, type ErrorBody } from '@toolrack/contract'
import type { CheckReport } from '../../../../functions/src/catalog/definitions/check-report.ts'
import type { PackageLock } from '../../../../functions/src/catalog/definitions/package-lock.ts'
import type {
  LockedContent,
  ModuleCheck,
  Runner,
  RunnerCall,
} from '../../../../functions/src/catalog/definitions/runner.ts'
import { allEvents, eventsOf } from '../../../support/call-events.ts'
import { inProcess } from '../../../support/in-process.ts'
import { memoryAudit } from '../../../support/memory-audit.ts'
import { lockOf } from '../../../support/module-changes.ts'
import { moduleOf } from '../../../support/modules.ts'
import { checkedModule, readingRunner, textIn } from '../../../support/reading-runner.ts'
import { NOW, signed } from '../../../support/signed-tokens.ts'
import { deployedAccess, FIREBASE } from '../../../support/token-kinds.ts'

/** A runner that resolves packages to the version that is the newest now, unless it gets a lock. */
class Resolving {
  newest = '1.0'
  python = '3.11'
  readonly locks: (PackageLock | undefined)[] = []
  readonly calls: RunnerCall[] = []
  readonly sources: (LockedContent | undefined)[] = []
  /** Runs in the middle of each check. */
  during: (check: ModuleCheck) => void | Promise<void> = () => undefined
  readonly runner: Runner = {
    ...readingRunner(),
    check: async (check): Promise<CheckReport> => {
      this.locks.push(check.lock)
      await this.during(check)
      const text = textIn(check)
      const fits = check.lock?.python === this.python
      const packages = fits && check.lock ? check.lock : { ...lockOf(this.newest), python: this.python }
      return { ...checkedModule(text), ...(text.includes('# plain') ? {} : { packages }) }
    },
    invoke: async (call) => {
      this.calls.push(call)
      this.sources.push(await call.source())
      return { code: 'TOOL_RAISED', error: 'It runs nothing.' }
    },
  }
}

const resolving = new Resolving()
const logged: object[] = []
const audit = memoryAudit({ now: () => NOW })
const service = await inProcess(
  deployedAccess(() => NOW),
  [],
  () => NOW,
  {
    runner: resolving.runner,
    settings: { TOOLRACK_GRANTS: 'accept' },
    log: {
      info: () => undefined,
      warn: () => undefined,
      error: (message, facts) => void logged.push({ message, ...facts }),
    },
    audit,
    isBehindBuffer: ({ headers }) => headers['x-forwarded-host'] !== undefined,
  },
)
afterAll(() => service[Symbol.asyncDispose]())
beforeEach(() => {
  resolving.during = () => undefined
  resolving.newest = '1.0'
})

type Body = Record<string, unknown>

function ask(method: string, path: string, body?: string, headers: Record<string, string> = {}) {
  const all = { Authorization: `Bearer ${signed(FIREBASE, { sub: 'ann' })}`, ...headers }
  return fetch(`${service.url}/workflows${path}`, { method, body: body ?? null, headers: all })
}

async function answered(...asked: Parameters<typeof ask>): Promise<Body> {
  const answer = await ask(...asked)
  return { httpStatus: answer.status, ...((await answer.json()) as Body) }
}

const at = (name: string) => `/tools/modules/${name}`
const put = (name: string, text = moduleOf(name, 'one'), query = '') =>
  answered('PUT', `${at(name)}${query}`, text)
const lastLock = () => resolving.locks.at(-1)
const [one, two] = [lockOf('1.0'), lockOf('2.0')]

async function lastSubject(): Promise<unknown> {
  const [text = ''] = (await audit.page({ uid: 'ann', limit: 1 })).texts
  return (JSON.parse(text) as { readonly subject: unknown }).subject
}

test('the lock of a module is kept, told, and used again for the same bytes', async () => {
  const first = await put('kept')
  expect([first['httpStatus'], lastLock()]).toEqual([201, undefined])
  expect(first).toMatchObject({
    environment: one.digest,
    report: {
      packages: {
        digest: one.digest,
        requirements: ['six'],
        packages: [{ name: 'six', version: '1.0', bytes: 11_000 }],
      },
    },
  })
  expect(await lastSubject()).toMatchObject({ outcome: 'created', environment: one.digest })
  expect(await answered('GET', '/tools/defs/kept:one')).toMatchObject({
    definition: { runner: { packages: ['six'], environment: one.digest } },
  })
  resolving.newest = '2.0'
  expect(await put('kept')).toMatchObject({ httpStatus: 200, outcome: 'unchanged', environment: one.digest })
  expect(lastLock()).toEqual(one)
  expect(await put('kept', `${moduleOf('kept', 'one')}# more\n`)).toMatchObject({ environment: two.digest })
  expect(lastLock()).toBeUndefined()
})

test('relock resolves anew: the same bytes become a new version', async () => {
  await put('anew')
  resolving.newest = '2.0'
  expect(await put('anew', undefined, '?relock=1')).toMatchObject({
    outcome: 'updated',
    environment: two.digest,
    tools: { changed: ['anew:one'] },
  })
  expect(lastLock()).toBeUndefined()
  const { items } = await answered('GET', `${at('anew')}/versions`)
  expect(items).toMatchObject([{ environment: two.digest }, { environment: one.digest }])
  expect(await put('anew', undefined, '?relock=2')).toMatchObject({ httpStatus: 400 })
})

const read = (tag: string) => ask('GET', at('tagged'), undefined, { 'If-None-Match': tag })

test('an answer about a module is not the same any more when only its packages are others', async () => {
  await put('tagged')
  const tag = (await read('"none"')).headers.get('ETag') ?? ''
  expect((await read(tag)).status).toBe(304)
  resolving.newest = '2.0'
  await put('tagged', undefined, '?relock=1')
  expect((await read(tag)).status).toBe(200)
})

async function tagOf(...asked: Parameters<typeof ask>): Promise<string | null> {
  return (await ask(...asked)).headers.get('ETag')
}

test('an upload, a rollback and a read answer with the same entity tag', async () => {
  const present = () => tagOf('GET', at('tags'))
  const upload = (query = '') => tagOf('PUT', at('tags') + query, moduleOf('tags', 'one'))
  const created = await upload()
  expect(created).toBe(await present())
  expect(await upload()).toBe(created)
  resolving.newest = '2.0'
  const relocked = await upload('?relock=1')
  expect(relocked).not.toBe(created)
  expect(relocked).toBe(await present())
  const { items } = await answered('GET', `${at('tags')}/versions`)
  const body = JSON.stringify({ revision: (items as { revision: string }[]).at(-1)?.revision })
  expect(await tagOf('POST', `${at('tags')}/rollback`, body)).toBe(await present())
  const { grantsDigest } = await answered('GET', at('tags'))
  await put('tags', undefined, `?acceptGrants=${String(grantsDigest)}`)
  expect(await upload()).toBe(await present())
})

test('an upload after the runner has got another Python replaces the lock, which calls need', async () => {
  await put('moved')
  resolving.python = '3.12'
  expect(await put('moved')).toMatchObject({ outcome: 'updated', environment: one.digest })
  await ask('POST', '/tools/invoke', JSON.stringify({ name: 'moved:one', arguments: {} }))
  expect(resolving.sources.at(-1)).toMatchObject({ lock: { python: '3.12' } })
  expect(await put('moved')).toMatchObject({ outcome: 'unchanged' })
  resolving.python = '3.11'
})

test('a rollback takes the lock of its version, unless it is told to resolve anew', async () => {
  await put('back')
  resolving.newest = '2.0'
  await put('back', undefined, '?relock=1')
  const { items } = (await answered('GET', `${at('back')}/versions`)) as { items: { revision: string }[] }
  const choice = JSON.stringify({ revision: items[1]?.revision })
  const roll = (query = '') => answered('POST', `${at('back')}/rollback${query}`, choice)
  expect(await roll()).toMatchObject({ outcome: 'updated', environment: one.digest })
  expect(lastLock()).toEqual(one)
  expect(await roll('?relock=true')).toMatchObject({ environment: two.digest })
  expect(lastLock()).toBeUndefined()
})

test('a module without packages has no lock and no environment, in no answer', async () => {
  const plain = await put('plain', `# plain\n${moduleOf('plain', 'one')}`)
  expect(plain).not.toHaveProperty('environment')
  expect(plain['report']).not.toHaveProperty('packages')
  expect(await answered('GET', at('plain'))).not.toHaveProperty('environment')
  expect(await lastSubject()).not.toHaveProperty('environment')
})

test('a call names the environment, and gives its lock with the source', async () => {
  await put('called')
  await ask('POST', '/tools/invoke', JSON.stringify({ name: 'called:one', arguments: {} }))
  expect(resolving.calls.at(-1)).toMatchObject({ environment: one.digest })
  expect(resolving.sources.at(-1)).toEqual({ source: moduleOf('called', 'one'), lock: one })
})

const EVENTS = { Accept: 'text/event-stream' }
const stream = (name: string, headers: Record<string, string> = {}) =>
  ask('PUT', at(name), moduleOf(name, 'one'), { ...EVENTS, ...headers })

test('an upload tells its progress as it is made, and then the answer with its status', async () => {
  const gate = Promise.withResolvers<void>()
  resolving.during = async ({ onProgress }) => {
    onProgress?.('Resolving the packages.')
    await gate.promise
    onProgress?.('Installing 1 of 1.')
  }
  const answer = await stream('streamed')
  expect([answer.status, answer.headers.get('Content-Type')]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ])
  const events = eventsOf(answer)
  // Nothing has ended yet, and this event is there already.
  expect((await events.next()).value).toEqual({ type: 'progress', text: 'Resolving the packages.' })
  gate.resolve()
  const rest: Body[] = []
  for await (const event of events) rest.push(event)
  const texts = rest.slice(0, -1).map(({ text }) => text)
  expect(texts.at(-1)).toBe('Installing 1 of 1.')
  expect(rest.at(-1)).toMatchObject({
    type: 'result',
    status: 201,
    name: 'streamed',
    environment: one.digest,
  })
})

test('an upload without progress tells that it goes on, again and again', async () => {
  const seen = Promise.withResolvers<void>()
  resolving.during = () => seen.promise
  const texts: unknown[] = []
  for await (const event of eventsOf(await stream('slow'))) {
    texts.push(event['text'])
    if (texts.length === 2) seen.resolve()
  }
  expect(texts.slice(0, 2)).toEqual(['checking the module', 'checking the module'])
})

test('an upload that is refused after its first event ends with the error, which the audit trail has too', async () => {
  resolving.during = ({ onProgress }) => {
    onProgress?.('Resolving the packages.')
    throw new ToolrackError('PACKAGES_REFUSED', 'No.', { details: [{ reason: 'PACKAGES_REFUSED' }] })
  }
  const events = await allEvents(await stream('refused'))
  expect(events.map(({ type }) => type)).toEqual(['progress', 'error'])
  expect(events.at(-1)).toMatchObject({ error: { code: 422, details: [{ reason: 'PACKAGES_REFUSED' }] } })
  const [text = ''] = (await audit.page({ uid: 'ann', limit: 1 })).texts
  expect(JSON.parse(text)).toMatchObject({ outcome: 'PACKAGES_REFUSED' })
  resolving.during = ({ onProgress }) => {
    onProgress?.('Resolving the packages.')
    throw new Error('a fault of the service')
  }
  const [, last] = await allEvents(await stream('refused'))
  expect(last).toMatchObject({ type: 'error', error: { code: 500, details: [{ reason: 'INTERNAL' }] } })
  const requestId = (last as unknown as ErrorBody).error.details[0]?.['requestId']
  // The log has the reason under the id of the answer, and nothing about an answer that is broken off.
  const error = expect.stringContaining('a fault of the service')
  expect(logged).toEqual([{ message: 'request failed', requestId, error }])
})

test('an upload that is refused before its first event is answered with its status', async () => {
  resolving.during = () => {
    throw new ToolrackError('PACKAGES_UNAVAILABLE', 'The index is away.')
  }
  const answer = await stream('early')
  expect([answer.status, ((await answer.json()) as ErrorBody).error.message]).toEqual([
    503,
    'The index is away.',
  ])
  const quick = await ask('PUT', at('early'), '{', { ...EVENTS, 'Content-Type': 'application/json' })
  expect(quick.status).toBe(400)
})

test('behind a proxy that buffers, a client that takes only a stream gets none, and one that takes JSON gets that', async () => {
  const proxied = { 'X-Forwarded-Host': 'example.com' }
  const checks = resolving.locks.length
  const only = await stream('proxied', proxied)
  expect([only.status, resolving.locks.length]).toEqual([406, checks])
  const both = await stream('proxied', { ...proxied, Accept: 'text/event-stream, application/json;q=0.5' })
  expect([both.status, ((await both.json()) as Body)['name']]).toEqual([201, 'proxied'])
})
