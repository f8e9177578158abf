import { expect, jest, test } from '@jest/globals'
import { ToolrackError } from '@toolrack/contract'
import type { CatalogView } from '../../../../functions/src/catalog/views/catalog-view.ts'
import { ChangeFeeds, CHECK_MS } from '../../../../functions/src/features/changes/change-feeds.ts'
import type { Viewer } from '../../../../functions/src/features/changes/past-views.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'
import { until } from '../../../support/until.ts'

const BEFORE = catalogView({ file: [tool('a')] })
const AFTER = catalogView({ file: [tool('a'), tool('b')] })

const byNothing = () => ({ filter: { leavesOut: () => undefined }, bytes: 0 })

/** Feeds of a catalog whose view the test sets. */
class Scripted {
  view: CatalogView = BEFORE
  now = 0
  checks = 0
  readonly feeds: ChangeFeeds

  constructor(bounds = { perUser: 2, all: 3 }) {
    const present = (): CatalogView => {
      this.checks += 1
      return this.view
    }
    this.feeds = new ChangeFeeds({ views: { present }, now: () => this.now, bounds })
  }
}

test('equal callers share one check, and all of them are woken', async () => {
  const scripted = new Scripted({ perUser: 50, all: 50 })
  const feeds = Array.from({ length: 50 }, () => scripted.feeds.open({ uid: 'ann' }))
  const told = Promise.all(feeds.map((feed) => feed.after(BEFORE)))
  scripted.view = AFTER
  scripted.feeds.wake()
  expect(await told).toEqual(feeds.map(() => AFTER))
  expect(scripted.checks).toBe(1)
  for (const feed of feeds) feed.end()
  // The look that has woken the feeds ends a moment later.
  const state = await until(
    () => Promise.resolve(scripted.feeds.state),
    ({ isWaiting }) => !isWaiting,
  )
  expect(state).toEqual({ feeds: 0, groups: 0, isWaiting: false })
})

test('callers with another grant or workflow do not share a view', () => {
  const { feeds } = new Scripted()
  const grant = { id: 'g', tools: new Map() }
  const open = [{ uid: 'ann' }, { uid: 'ann', grant, workflowId: 'w' }, { uid: 'bob' }].map((viewer) =>
    feeds.open(viewer),
  )
  expect(feeds.state.groups).toBe(3)
  for (const feed of open) feed.end()
})

test('callers that are filtered by something else do not share a view', () => {
  const { feeds } = new Scripted({ perUser: 3, all: 3 })
  const open = ['a', 'b', 'a'].map((key) => feeds.open({ uid: 'ann', filtered: { key, present: byNothing } }))
  expect(feeds.state).toMatchObject({ feeds: 3, groups: 2 })
  for (const feed of open) feed.end()
})

test('a session that is gone ends the feeds with the reason, and a store that fails does not', async () => {
  let thrown = new ToolrackError('STORE_FAILED')
  let checks = 0
  const present = (): never => {
    checks += 1
    throw thrown
  }
  const feeds = new ChangeFeeds({ views: { present }, now: () => 0 })
  const feed = feeds.open({ uid: 'ann' })
  const waiting = feed.after(BEFORE)
  feeds.wake()
  await until(
    () => Promise.resolve(checks),
    (count) => count > 1,
  )
  expect(feeds.state.feeds).toBe(1)
  thrown = new ToolrackError('SESSION_NOT_FOUND')
  await expect(waiting).rejects.toBe(thrown)
  expect(feeds.state).toMatchObject({ feeds: 0, groups: 0 })
})

test('a session that is read slowly does not delay the feeds of others', async () => {
  const slow = Promise.withResolvers<CatalogView>()
  const filtered = { key: 'session', present: byNothing }
  const present = ({ uid }: Viewer) => (uid === 'slow' ? slow.promise : AFTER)
  const feeds = new ChangeFeeds({ views: { present }, now: () => 0 })
  const late = feeds.open({ uid: 'slow', filtered })
  const first = feeds.open({ uid: 'ann' })
  feeds.wake()
  expect(await first.after(BEFORE)).toBe(AFTER)
  // This feed begins while the look at the slow view is not done.
  const second = feeds.open({ uid: 'bob' })
  expect(await second.after(BEFORE)).toBe(AFTER)
  slow.resolve(AFTER)
  expect(await late.after(BEFORE)).toBe(AFTER)
  for (const feed of [late, first, second]) feed.end()
})

test('a layer that cannot be read is no change', async () => {
  const scripted = new Scripted()
  const feed = scripted.feeds.open({ uid: 'ann' })
  let told: CatalogView | undefined
  const telling = feed.after(BEFORE).then((view) => (told = view))
  scripted.view = catalogView({ file: 'error' })
  const { checks } = scripted
  scripted.feeds.wake()
  await until(
    () => Promise.resolve(scripted.checks),
    (count) => count > checks + 1,
  )
  expect(told).toBeUndefined()
  scripted.view = AFTER
  expect(await telling).toBe(AFTER)
  feed.end()
})

test('the places of one user and of all users are bounded, and a feed that ends gives its place back once', () => {
  const { feeds } = new Scripted()
  const first = feeds.open({ uid: 'ann' })
  const others = [feeds.open({ uid: 'ann' })]
  expect(() => feeds.open({ uid: 'ann' })).toThrow('You have 2 change feeds open')
  others.push(feeds.open({ uid: 'bob' }))
  expect(() => feeds.open({ uid: 'cleo' })).toThrow('As many change feeds')
  first.end()
  first.end()
  others.push(feeds.open({ uid: 'cleo' }))
  expect(feeds.state.feeds).toBe(3)
  expect(() => feeds.open({ uid: 'dora' })).toThrow('As many change feeds')
  for (const feed of others) feed.end()
  expect(feeds.state).toEqual({ feeds: 0, groups: 0, isWaiting: false })
})

test('feeds end with their token and when the service stops, and later ones end at once', async () => {
  const scripted = new Scripted()
  const expiring = scripted.feeds.open({ uid: 'ann' }, 1_000)
  const staying = scripted.feeds.open({ uid: 'ann' })
  scripted.now = 1_000
  expect(await expiring.after(BEFORE)).toBe(undefined)
  expect(scripted.feeds.state.feeds).toBe(1)
  const waiting = staying.after(BEFORE)
  scripted.feeds.close()
  expect(await waiting).toBeUndefined()
  expect(await scripted.feeds.open({ uid: 'ann' }).after(BEFORE)).toBeUndefined()
  expect(scripted.feeds.state).toEqual({ feeds: 0, groups: 0, isWaiting: false })
})

test('a feed that begins with a newer view than its group has is not told the older one', async () => {
  const scripted = new Scripted()
  const early = scripted.feeds.open({ uid: 'ann' })
  scripted.feeds.wake()
  await early.after(AFTER)
  scripted.view = AFTER
  const late = scripted.feeds.open({ uid: 'ann' })
  const present = await late.read()
  expect(present).toBe(AFTER)
  expect(await early.after(BEFORE)).toBe(AFTER)
  const telling = late.after(present)
  late.end()
  expect(await telling).toBeUndefined()
  early.end()
})

test('a look that began before another one cannot bring back an older view', async () => {
  const slow = Promise.withResolvers<CatalogView>()
  const views: (CatalogView | Promise<CatalogView>)[] = [slow.promise, AFTER]
  const present = () => views.shift() ?? AFTER
  const feeds = new ChangeFeeds({ views: { present }, now: () => 0 })
  const feed = feeds.open({ uid: 'ann' })
  const first = feed.read()
  await feed.read()
  slow.resolve(BEFORE)
  await first
  expect(await feed.after(BEFORE)).toBe(AFTER)
  feed.end()
})

test('a wake that nobody has waited for does not delay the next one', async () => {
  const { feeds } = new Scripted()
  const left = feeds.open({ uid: 'ann' })
  feeds.wake()
  left.end()
  const timeouts = jest.spyOn(globalThis, 'setTimeout')
  const feed = feeds.open({ uid: 'ann' })
  feeds.wake()
  const delays = timeouts.mock.calls.map(([, ms]) => ms)
  timeouts.mockRestore()
  expect(delays).toEqual([CHECK_MS, 20])
  feed.end()
})
