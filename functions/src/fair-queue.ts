import { ToolrackError } from '@toolrack/contract'

/** The limits of a queue: how much work may run, and how much may wait. `test/support/fair-queue.json` has test cases. */
export type QueueBounds = {
  /** How many pieces of work run at the same time. */
  readonly places: number
  /** How many places one user may have at once, even if nobody else waits: running work is never stopped to free a place. */
  readonly placesPerUser: number
  /** How many pieces of work of one user may wait. */
  readonly waitingPerUser: number
  /** How many pieces of work of all users together may wait. The service's own work does not count. */
  readonly waitingMax: number
}

/** A clock, in milliseconds since some fixed moment, and a timer. */
export type QueueClock = {
  readonly nowMs: () => number
  readonly later: (ms: number, act: () => void) => void
}

/** The user who sends the work. Null is the service: it takes turns like a user, but any amount of its work may wait. */
export type QueueUser = string | null

export type QueueState = {
  readonly places: number
  readonly running: number
  readonly waiting: number
  readonly usersWaiting: number
  /** The waiting time of the oldest waiting work, in milliseconds; 0 if nothing waits. */
  readonly longestWaitMs: number
}

type Waiter = {
  readonly sinceMs: number
  readonly start: () => void
  readonly refuse: (error: Error) => void
}

type User = {
  readonly waiting: Set<Waiter>
  running: number
  /**
   * All starts of work are numbered. This is the number of the user's last start. Before the user's first start, it is
   * `#forgottenStart`.
   */
  started: number
  pausedUntilMs: number
}

/**
 * How many users are remembered while work waits. They take about 100 KB. If there are more, which is rare, users without work
 * are forgotten.
 */
export const IDLE_USERS_MAX = 1_000

const SYSTEM_CLOCK: QueueClock = {
  nowMs: () => performance.now(),
  later: (ms, act) => void setTimeout(act, ms).unref(),
}

/**
 * A queue in which users share places. A free place goes to the waiting user who has the fewest places. Among users with equally
 * few places, it goes to the user whose last start was longest ago. If one user sends too much work, only that user's work is
 * refused.
 */
export class FairQueue {
  readonly #bounds: QueueBounds
  readonly #refusal: () => Error
  readonly #clock: QueueClock
  /** The users in the order of their last starts. */
  readonly #users = new Map<QueueUser, User>()
  #running = 0
  #waiting = 0
  #starts = 0
  /** The highest `started` of the users who were forgotten while work waited. A new user begins with this number. */
  #forgottenStart = 0

  /** `refusal` makes the error for work that is not run because too much work waits. */
  constructor(bounds: QueueBounds, refusal: () => Error, clock = SYSTEM_CLOCK) {
    this.#bounds = bounds
    this.#refusal = refusal
    this.#clock = clock
  }

  /**
   * Runs `act` when it is the user's turn, or at once if a place is free. Rejects with the error of `act`. If too much work
   * waits, rejects with the error that `refusal` makes. If `signal` is aborted before the turn comes, rejects with CANCELLED.
   */
  async run<T>(user: QueueUser, act: () => T | Promise<T>, signal?: AbortSignal): Promise<T> {
    if (signal?.aborted) throw new ToolrackError('CANCELLED')
    const state = this.#userOf(user)
    if (state.waiting.size === 0 && this.#mayStart(state)) this.#start(user, state)
    else await this.#turn(user, state, signal)
    try {
      return await act()
    } finally {
      state.running -= 1
      this.#running -= 1
      this.#startNext()
    }
  }

  /** Starts no work of the user for `ms` milliseconds. A second pause never shortens the first. */
  pause(user: QueueUser, ms: number): void {
    const state = this.#userOf(user)
    state.pausedUntilMs = Math.max(state.pausedUntilMs, this.#clock.nowMs() + ms)
    this.#wakeLater(state)
  }

  refuseWaiting(error: Error): void {
    for (const { waiting } of this.#users.values()) for (const waiter of waiting) waiter.refuse(error)
    this.#forgetIdle()
  }

  get knownUsers(): number {
    return this.#users.size
  }

  get state(): QueueState {
    const users = [...this.#users.values()].filter(({ waiting }) => waiting.size > 0)
    const now = this.#clock.nowMs()
    const waits = users.map(({ waiting }) => now - oldest(waiting).sinceMs)
    return {
      places: this.#bounds.places,
      running: this.#running,
      waiting: this.#waiting,
      usersWaiting: users.length,
      longestWaitMs: Math.round(Math.max(0, ...waits)),
    }
  }

  #userOf(user: QueueUser): User {
    const known = this.#users.get(user)
    if (known) return known
    const made = { waiting: new Set<Waiter>(), running: 0, started: this.#forgottenStart, pausedUntilMs: 0 }
    this.#users.set(user, made)
    return made
  }

  /** Starts waiting work when the user's pause is over. A timer may fire a little early, so the time is checked again. */
  #wakeLater(user: User): void {
    const leftMs = user.pausedUntilMs - this.#clock.nowMs()
    if (leftMs > 0) this.#clock.later(Math.ceil(leftMs), () => this.#wakeLater(user))
    else this.#startNext()
  }

  #mayStart({ running, pausedUntilMs }: User): boolean {
    const { places, placesPerUser } = this.#bounds
    return this.#running < places && running < placesPerUser && pausedUntilMs <= this.#clock.nowMs()
  }

  #start(key: QueueUser, user: User): void {
    this.#starts += 1
    user.started = this.#starts
    this.#users.delete(key)
    this.#users.set(key, user)
    user.running += 1
    this.#running += 1
  }

  #turn(key: QueueUser, user: User, signal: AbortSignal | undefined): Promise<void> {
    if (key !== null) this.#makeRoom(user)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = (): void => {
      user.waiting.delete(waiter)
      this.#waiting -= 1
      signal?.removeEventListener('abort', giveUp)
    }
    const waiter: Waiter = {
      sinceMs: this.#clock.nowMs(),
      start: () => {
        leave()
        this.#start(key, user)
        resolve()
      },
      refuse: (error) => {
        leave()
        reject(error)
      },
    }
    const giveUp = (): void => {
      waiter.refuse(new ToolrackError('CANCELLED'))
      this.#forgetIdle()
    }
    signal?.addEventListener('abort', giveUp, { once: true })
    user.waiting.add(waiter)
    this.#waiting += 1
    return promise
  }

  /**
   * Makes room for one more waiter, if necessary by refusing the newest waiter of the user who has the most waiters. Throws the
   * refusal if no room can be made.
   */
  #makeRoom({ waiting }: User): void {
    const { waitingPerUser, waitingMax } = this.#bounds
    if (waiting.size >= waitingPerUser) throw this.#refusal()
    const ofService = this.#users.get(null)?.waiting.size ?? 0
    if (this.#waiting - ofService < waitingMax) return
    const ofUsers = [...this.#users].flatMap(([key, user]) => (key === null ? [] : [user.waiting]))
    const [most] = ofUsers.toSorted((a, b) => b.size - a.size)
    const newest = most && [...most].at(-1)
    if (!newest || most.size <= waiting.size + 1) throw this.#refusal()
    newest.refuse(this.#refusal())
  }

  #startNext(): void {
    if (this.#waiting > 0) for (let next = this.#next(); next; next = this.#next()) next.start()
    this.#forgetIdle()
  }

  #next(): Waiter | undefined {
    let first: User | undefined
    for (const user of this.#users.values())
      if (user.waiting.size > 0 && this.#mayStart(user) && (!first || isBefore(user, first))) first = user
    return first && oldest(first.waiting)
  }

  /**
   * Forgets users without work. If nothing waits, forgets all of them. If work waits, forgets only as many as are above
   * `IDLE_USERS_MAX`, beginning with those whose last start was longest ago: a user who is forgotten at once would come first
   * with each new work. A user who comes back gets `#forgottenStart`, so waiting users with an earlier last start are served
   * first.
   */
  #forgetIdle(): void {
    const max = this.#waiting > 0 ? IDLE_USERS_MAX : 0
    if (max === 0) this.#forgottenStart = 0
    const now = this.#clock.nowMs()
    for (const [key, { running, waiting, pausedUntilMs, started }] of this.#users) {
      if (this.#users.size <= max) return
      if (running > 0 || waiting.size > 0 || pausedUntilMs > now) continue
      this.#users.delete(key)
      if (max > 0) this.#forgottenStart = Math.max(this.#forgottenStart, started)
    }
  }
}

function isBefore(a: User, b: User): boolean {
  const order = a.running - b.running || a.started - b.started
  return (order || oldest(a.waiting).sinceMs - oldest(b.waiting).sinceMs) < 0
}

function oldest(waiting: ReadonlySet<Waiter>): Waiter {
  const [first] = waiting
  if (!first) throw new Error('nobody waits')
  return first
}
