/** What a queue lets run and wait. The cases of `test/support/fair-queue.json` say what follows from that. */
export type QueueBounds = {
  /** How much runs at the same time. */
  readonly places: number
  /** How many of them one user has at most, also when nobody else is there: what runs is not taken back for others. */
  readonly placesPerUser: number
  /** How many wait for one user, and for all users together. */
  readonly waitingPerUser: number
  readonly waitingMax: number
}

/** Milliseconds from any beginning, and what is done so many milliseconds later. */
export type QueueClock = {
  readonly nowMs: () => number
  readonly later: (ms: number, act: () => void) => void
}

/** Whose work it is. Null is the service itself: it takes turns as any user does, and any number of its own may wait. */
export type QueueUser = string | null

/** Why something is not run: as many wait as may, or nobody wants it any more. */
export type NotRun = 'full' | 'gone'

export type QueueState = {
  readonly places: number
  readonly running: number
  readonly waiting: number
  readonly usersWaiting: number
  /** How long the one that waits longest has waited, in milliseconds; 0 when nobody waits. */
  readonly longestWaitMs: number
}

type Waiter = {
  readonly user: User
  readonly sinceMs: number
  readonly start: () => void
  readonly refuse: (error: Error) => void
}

type User = {
  /** The service's own work is not counted where others' is bounded. */
  readonly isBounded: boolean
  readonly waiting: Set<Waiter>
  running: number
  /** The number of the start that was the user's last; 0 before the first. */
  started: number
  pausedUntilMs: number
}

/**
 * Users without anything running or waiting who are remembered while others wait: so many more than wait that hardly anybody comes
 * back forgotten, in about 100 KB.
 */
export const IDLE_USERS_MAX = 1_000

const SYSTEM_CLOCK: QueueClock = {
  nowMs: () => performance.now(),
  later: (ms, act) => void setTimeout(act, ms).unref(),
}

/**
 * Places that users share. A free place goes to the user who has the fewest, then to the one who started longest ago. What one
 * user asks for too much is refused to that user only.
 */
export class FairQueue {
  readonly #bounds: QueueBounds
  readonly #refusal: (why: NotRun) => Error
  readonly #clock: QueueClock
  /** In the order in which they started last. */
  readonly #users = new Map<QueueUser, User>()
  #running = 0
  #waiting = 0
  #waitingBounded = 0
  #starts = 0
  /** The last start of any user who was forgotten while others waited. Whoever is not known counts as one of them. */
  #forgottenStart = 0

  /** `refusal` makes the error that a caller gets for what is not run. */
  constructor(bounds: QueueBounds, refusal: (why: NotRun) => Error, clock = SYSTEM_CLOCK) {
    this.#bounds = bounds
    this.#refusal = refusal
    this.#clock = clock
  }

  /**
   * Runs `act` when it is the user's turn: at once where there is a place. Rejects as `act` does, and with the refusal where
   * too many wait or `signal` is aborted before the turn comes.
   */
  async run<T>(
    user: QueueUser,
    act: () => T | Promise<T>,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<T> {
    if (signal?.aborted) throw this.#refusal('gone')
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

  /** Lets the user start nothing for so many milliseconds. A second pause never shortens the first. */
  pause(user: QueueUser, ms: number): void {
    const state = this.#userOf(user)
    state.pausedUntilMs = Math.max(state.pausedUntilMs, this.#clock.nowMs() + ms)
    this.#wakeLater(state)
  }

  /** Refuses all that wait. */
  refuseWaiting(error: Error): void {
    for (const { waiting } of this.#users.values()) for (const waiter of waiting) waiter.refuse(error)
    this.#forgetIdle()
  }

  /** How many users are remembered. */
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
    const made = {
      isBounded: user !== null,
      waiting: new Set<Waiter>(),
      running: 0,
      started: this.#forgottenStart,
      pausedUntilMs: 0,
    }
    this.#users.set(user, made)
    return made
  }

  /** A timer may come a little before its time. */
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

  /** Resolves when the user's place is taken for it. */
  #turn(key: QueueUser, user: User, signal: AbortSignal | undefined): Promise<void> {
    if (user.isBounded) this.#makeRoom(user)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = (): void => {
      user.waiting.delete(waiter)
      this.#waiting -= 1
      if (user.isBounded) this.#waitingBounded -= 1
      signal?.removeEventListener('abort', giveUp)
    }
    const waiter: Waiter = {
      user,
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
      waiter.refuse(this.#refusal('gone'))
      this.#forgetIdle()
    }
    signal?.addEventListener('abort', giveUp, { once: true })
    user.waiting.add(waiter)
    this.#waiting += 1
    if (user.isBounded) this.#waitingBounded += 1
    return promise
  }

  /** Makes sure that one more of the user may wait. Throws the refusal where it may not. */
  #makeRoom({ waiting }: User): void {
    const { waitingPerUser, waitingMax } = this.#bounds
    if (waiting.size >= waitingPerUser) throw this.#refusal('full')
    if (this.#waitingBounded < waitingMax) return
    const [most] = [...this.#users.values()]
      .filter(({ isBounded }) => isBounded)
      .toSorted((a, b) => b.waiting.size - a.waiting.size)
    const newest = most && [...most.waiting].at(-1)
    if (!newest || most.waiting.size <= waiting.size + 1) throw this.#refusal('full')
    newest.refuse(this.#refusal('full'))
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
   * While somebody waits, users are remembered: who asks again as soon as they are answered would else always be the first. Where
   * they are too many, those who started longest ago are forgotten, and come back behind every waiter who started before them.
   */
  #forgetIdle(): void {
    const max = this.#waiting > 0 ? IDLE_USERS_MAX : 0
    if (max === 0) this.#forgottenStart = 0
    if (this.#users.size <= max) return
    const now = this.#clock.nowMs()
    for (const [key, { running, waiting, pausedUntilMs, started }] of this.#users) {
      if (running > 0 || waiting.size > 0 || pausedUntilMs > now) continue
      this.#users.delete(key)
      if (max > 0) this.#forgottenStart = Math.max(this.#forgottenStart, started)
      if (this.#users.size <= max) return
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
