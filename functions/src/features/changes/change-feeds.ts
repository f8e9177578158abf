import { isToolrackError, ToolrackError } from '@toolrack/contract'
import { asPart } from '../../running-work.ts'
import type { CatalogView } from '../../catalog/views/catalog-view.ts'
import type { Viewer } from './past-views.ts'

/** How many feeds one user may have at once, and how many all users may have on one instance. */
export const FEEDS_MAX = { perUser: 100, all: 1_000 } as const
/**
 * Milliseconds between two checks of the views of all feeds. A layer is still read at most once a second, however many feeds
 * there are.
 */
export const CHECK_MS = 250
/** Milliseconds from a write of this instance to the next check, so that many writes do not cause many checks. */
const CHECK_AGAIN_MS = 20

export type Bounds = { readonly perUser: number; readonly all: number }

type Parts<Sees extends Viewer> = {
  readonly views: { readonly present: (viewer: Sees) => CatalogView | Promise<CatalogView> }
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly bounds?: Bounds | undefined
}

/** The feeds of viewers who see the same tools. `checkNumber` is the number of the check that has read `view`. */
type Group<Sees> = {
  readonly viewer: Sees
  view: CatalogView | undefined
  checkNumber: number
  readonly feeds: Set<Feed>
  /** True while the view is being checked. */
  isChecking: boolean
}

type ReadView = () => CatalogView | Promise<CatalogView>

/** Waits for changes on behalf of a caller. It counts for FEEDS_MAX until it ends. */
export class Feed {
  /** Reads what the viewer sees now. The feed never goes back to an older view. */
  readonly read: ReadView
  readonly endsAt: number
  readonly #present: () => CatalogView | undefined
  readonly #leave: (feed: Feed) => void
  #wake: (() => void) | undefined
  #isEnded = false
  #why: ToolrackError | undefined

  constructor(
    read: ReadView,
    present: () => CatalogView | undefined,
    leave: (feed: Feed) => void,
    endsAt: number,
  ) {
    this.read = read
    this.#present = present
    this.#leave = leave
    this.endsAt = endsAt
  }

  /**
   * Resolves to the newest view as soon as this is not `last`. Resolves to undefined when the feed has ended. Rejects with the
   * reason if the feed has ended because its session or a scope no longer exists.
   */
  async after(last: CatalogView): Promise<CatalogView | undefined> {
    while (!this.#isEnded) {
      const view = this.#present()
      if (view && view !== last) return view
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
    if (this.#why) throw this.#why
    return undefined
  }

  wake(): void {
    this.#wake?.()
  }

  /** Ends the feed, so that another one can be opened. May be called again. */
  end(why?: ToolrackError): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#why = why
    this.#leave(this)
    this.wake()
  }
}

/**
 * Wakes feeds when their view has changed. The view of each group is checked soon after a write of this instance, and otherwise
 * four times a second. Without feeds there is no timer.
 */
export class ChangeFeeds<Sees extends Viewer = Viewer> {
  readonly #parts: Parts<Sees>
  readonly #bounds: Bounds
  readonly #groups = new Map<string, Group<Sees>>()
  readonly #byUser = new Map<string, number>()
  #open = 0
  #clock: NodeJS.Timeout | undefined
  #isChecking = false
  #isWoken = false
  #isClosed = false
  #checks = 0

  constructor(parts: Parts<Sees>) {
    this.#parts = parts
    this.#bounds = parts.bounds ?? FEEDS_MAX
  }

  get state(): { readonly feeds: number; readonly groups: number; readonly isWaiting: boolean } {
    return { feeds: this.#open, groups: this.#groups.size, isWaiting: this.#clock !== undefined }
  }

  /** Opens a feed that ends at `endsAt`, in milliseconds since 1970. Throws SERVICE_BUSY if there are too many feeds. */
  open(viewer: Sees, endsAt = Infinity): Feed {
    const { perUser, all } = this.#bounds
    const { uid } = viewer
    const ofUser = this.#byUser.get(uid) ?? 0
    if (ofUser >= perUser) throw new ToolrackError('SERVICE_BUSY', tooManyOfYours(perUser))
    if (this.#open >= all) throw new ToolrackError('SERVICE_BUSY', TOO_MANY)
    const group = this.#group(viewer)
    const feed = new Feed(
      () => this.#see(group),
      () => group.view,
      (ended) => this.#left(ended, group),
      endsAt,
    )
    group.feeds.add(feed)
    this.#byUser.set(uid, ofUser + 1)
    this.#open += 1
    if (this.#isClosed) feed.end()
    else this.#clock ??= this.#later(CHECK_MS)
    return feed
  }

  /** To be called after a write, so that the feeds soon show it. */
  wake(): void {
    if (this.#open === 0 || this.#isWoken) return
    this.#isWoken = true
    if (this.#isChecking) return
    clearTimeout(this.#clock)
    this.#clock = this.#later(CHECK_AGAIN_MS)
  }

  /** Ends all feeds. A feed that is opened later ends at once. */
  close(): void {
    this.#isClosed = true
    for (const { feeds } of this.#groups.values()) for (const feed of feeds) feed.end()
  }

  #later(ms: number): NodeJS.Timeout {
    return setTimeout(() => void asPart('the change feeds', () => this.#check()), ms).unref()
  }

  async #check(): Promise<void> {
    this.#isChecking = true
    this.#isWoken = false
    const now = this.#parts.now()
    const checks: Promise<void>[] = []
    for (const group of this.#groups.values()) {
      const check = this.#checkGroup(group, now)
      // A session or a scope that is read slowly delays only the feeds that use it.
      if (!group.viewer.filtered) checks.push(check)
    }
    await Promise.all(checks)
    this.#isChecking = false
    this.#clock = this.#open > 0 ? this.#later(this.#isWoken ? CHECK_AGAIN_MS : CHECK_MS) : undefined
  }

  async #checkGroup(group: Group<Sees>, now: number): Promise<void> {
    for (const feed of group.feeds) if (feed.endsAt <= now) feed.end()
    if (group.feeds.size === 0 || group.isChecking) return
    group.isChecking = true
    try {
      await this.#see(group)
    } catch (error) {
      // A failed read is not a change. The next check tries again.
      if (isGone(error)) for (const feed of group.feeds) feed.end(error)
    } finally {
      group.isChecking = false
    }
  }

  /**
   * Reads the view of a group, and wakes its feeds if the view has changed. A check that began earlier cannot replace a newer
   * view.
   */
  async #see(group: Group<Sees>): Promise<CatalogView> {
    this.#checks += 1
    const check = this.#checks
    const view = await this.#parts.views.present(group.viewer)
    // A layer or rules that cannot be read now are no change. The feeds wait until they can be read again.
    if (!view.isWhole || check < group.checkNumber) return view
    group.checkNumber = check
    if (view === group.view) return view
    group.view = view
    for (const feed of group.feeds) feed.wake()
    return view
  }

  #group(viewer: Sees): Group<Sees> {
    const key = keyOf(viewer)
    const known = this.#groups.get(key)
    if (known) return known
    const group = { viewer, view: undefined, checkNumber: 0, feeds: new Set<Feed>(), isChecking: false }
    this.#groups.set(key, group)
    return group
  }

  #left(feed: Feed, group: Group<Sees>): void {
    const { uid } = group.viewer
    group.feeds.delete(feed)
    const key = keyOf(group.viewer)
    if (group.feeds.size === 0 && this.#groups.get(key) === group) this.#groups.delete(key)
    const ofUser = (this.#byUser.get(uid) ?? 1) - 1
    if (ofUser > 0) this.#byUser.set(uid, ofUser)
    else this.#byUser.delete(uid)
    this.#open -= 1
    if (this.#open > 0 || this.#isChecking) return
    clearTimeout(this.#clock)
    this.#clock = undefined
    this.#isWoken = false
  }
}

function keyOf({ uid, grant, workflowId = '', filtered }: Viewer): string {
  return [uid, grant?.id ?? '', workflowId, filtered?.key ?? ''].join('\n')
}

/** True if the session or a scope of a feed does not exist any more. */
export function isGone(error: unknown): error is ToolrackError {
  return isToolrackError(error) && (error.code === 'SESSION_NOT_FOUND' || error.code === 'SCOPE_NOT_FOUND')
}

const TOO_MANY =
  'As many change feeds are open as this instance takes; list the tools now and then, or try again later.'

function tooManyOfYours(max: number): string {
  return `You have ${max} change feeds open, and may not have more; close one, or share one between your programs.`
}
