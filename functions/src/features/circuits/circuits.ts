import { LRUCache } from 'lru-cache'
import { layeredDigest, type CatalogEntry, type LayeredDigest } from '../../catalog/views/catalog-entry.ts'
import type { Documents } from '../../documents/documents.ts'
import type { Log } from '../../log.ts'
import { wantedSecret } from '../secrets/secret.ts'
import { Circuit, OPEN_MS } from './circuit.ts'
import { OtherInstances } from './other-instances.ts'
import type { Verdict } from './verdict.ts'

/** How many failures in a row open a circuit. One or two can be an accident. */
export const FAILURES_MAX = 5
/** The milliseconds within which they must be. A tool that fails once an hour is not down. */
const WITHIN_MS = 60_000
/** For how many users a tool must fail, so that nobody calls it. Two can have the same wrong setting. */
const USERS_MET = 3
/** The milliseconds within which their circuits must have opened. A user who came an hour ago says nothing about now. */
const MET_WITHIN_MS = 5 * 60_000
/** The most users whose failing tools are in memory. The users who called a tool last stay. */
const USERS_MAX = 5_000
/** The most failing tools of one user in memory. With the users above, the circuits take at most some 40 MB. */
const TOOLS_MAX = 20
/** The most tools in memory that fail for one or two users, and the most that are open for everybody. */
const SHARED_MAX = 1_000

/** What `explain` and statistics show of a circuit. `until` is RFC 3339, UTC. */
export type CircuitState =
  | { readonly state: 'closed' }
  | { readonly state: 'open'; readonly for: Whom; readonly until: string }
  | { readonly state: 'half-open'; readonly for: 'you' }

type Whom = 'you' | 'everybody'

/** What the circuits must know about a tool. */
export type CircuitTool = Pick<CatalogEntry, 'layer' | 'digest' | 'howRun'>

/** Answers questions about circuits, and changes nothing. */
export type CircuitStates = {
  readonly of: (uid: string, tool: CircuitTool) => CircuitState
  /** The tools that a user cannot call now. */
  readonly openFor: (uid: string) => ReadonlySet<LayeredDigest>
  /** How many circuits are open. */
  readonly counts: () => { readonly ofUsers: number; readonly ofEverybody: number }
}

/** A call that was let in. `trial` is the half-open circuit that its end closes or opens. */
export type Entered = { readonly trial: Circuit | undefined }

/** A call that was refused. `leftMs` is 0 if another call tries the tool now. */
export type Refused = { readonly for: Whom; readonly leftMs: number }

type Parts = {
  /** Set if other instances serve the same users. They learn which circuits are open for everybody. */
  readonly documents?: Documents | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Milliseconds of a clock that never jumps. */
  readonly steadyMs?: (() => number) | undefined
  readonly log: Pick<Log, 'warn'>
}

type OwnCircuit = { readonly circuit: Circuit; failedMs: readonly number[] }

const NO_TRIAL: Entered = { trial: undefined }

/**
 * The circuit breakers of all tools. Each user has one for each tool, and most tools have one for everybody. Only circuits of
 * tools that have failed are in memory. All methods answer at once, and none waits for the store.
 */
export class Circuits implements CircuitStates {
  readonly #own = new LRUCache<string, Map<LayeredDigest, OwnCircuit>>({ max: USERS_MAX })
  /** The users whose own circuits have opened, with the times. */
  readonly #met = new LRUCache<LayeredDigest, Map<string, number>>({ max: SHARED_MAX })
  /** Until when a tool is closed to everybody. It is never half open: one user alone must not keep others out. */
  readonly #forEverybody = new LRUCache<LayeredDigest, number>({ max: SHARED_MAX })
  readonly #now: () => number
  readonly #steadyMs: () => number
  readonly #others: OtherInstances | undefined

  constructor({ documents, now, steadyMs = () => performance.now(), log }: Parts) {
    this.#now = now
    this.#steadyMs = steadyMs
    const opened = (key: LayeredDigest, leftMs: number) => this.#openedElsewhere(key, leftMs)
    this.#others = documents && new OtherInstances({ documents, now, steadyMs, log, opened })
  }

  /** Asks to call a tool. The caller passes what it gets to `leave` when the call has ended, unless it was refused. */
  enter(uid: string, tool: CircuitTool): Entered | Refused {
    this.#others?.look()
    const key = layeredDigest(tool)
    const own = this.#own.get(uid)?.get(key)?.circuit
    const untilMs = this.#forEverybody.get(key)
    if (!own && untilMs === undefined) return NO_TRIAL
    const nowMs = this.#steadyMs()
    if (untilMs !== undefined && nowMs < untilMs) return { for: 'everybody', leftMs: untilMs - nowMs }
    if (own?.refusesAt(nowMs)) return { for: 'you', leftMs: leftOf(own, nowMs) }
    if (own?.stateAt(nowMs) !== 'half-open') return NO_TRIAL
    own.beginTrial(nowMs)
    return { trial: own }
  }

  /**
   * Takes the end of a call that was let in. The end of a call that began before a circuit opened says nothing about the tool
   * now, so it does not change this circuit.
   */
  leave(uid: string, tool: CircuitTool, { trial }: Entered, verdict: Verdict): void {
    if (verdict === 'worked') this.#worked(uid, layeredDigest(tool), trial)
    else if (verdict === 'failed') this.#failed(uid, tool, trial)
    else trial?.endTrial()
  }

  of = (uid: string, tool: CircuitTool): CircuitState => {
    const key = layeredDigest(tool)
    const nowMs = this.#steadyMs()
    const leftMs = (this.#forEverybody.get(key) ?? nowMs) - nowMs
    if (leftMs > 0) return { state: 'open', for: 'everybody', until: this.#timeAfter(leftMs) }
    const own = this.#own.get(uid)?.get(key)?.circuit
    const state = own?.stateAt(nowMs) ?? 'closed'
    if (!own || state === 'closed') return { state: 'closed' }
    if (state === 'half-open') return { state, for: 'you' }
    return { state, for: 'you', until: this.#timeAfter(leftOf(own, nowMs)) }
  }

  openFor = (uid: string): ReadonlySet<LayeredDigest> => {
    this.#others?.look()
    const nowMs = this.#steadyMs()
    return new Set([...this.#openForEverybody(nowMs), ...openIn(this.#own.get(uid) ?? [], nowMs)])
  }

  counts = () => {
    const nowMs = this.#steadyMs()
    const ofUsers = [...this.#own.values()].map((tools) => openIn(tools, nowMs).length)
    return {
      ofUsers: ofUsers.reduce((sum, count) => sum + count, 0),
      ofEverybody: this.#openForEverybody(nowMs).length,
    }
  }

  /** Waits for the write that is under way. */
  async close(): Promise<void> {
    await this.#others?.close()
  }

  /** Closes the circuit of the user, unless it is open and this call was not its trial. */
  #worked(uid: string, key: LayeredDigest, trial: Circuit | undefined): void {
    this.#met.delete(key)
    const tools = this.#own.get(uid)
    const circuit = tools?.get(key)?.circuit
    if (!tools || !circuit || (circuit.untilMs !== undefined && circuit !== trial)) return
    tools.delete(key)
    if (tools.size === 0) this.#own.delete(uid)
  }

  #failed(uid: string, tool: CircuitTool, trial: Circuit | undefined): void {
    const nowMs = this.#steadyMs()
    const key = layeredDigest(tool)
    const own = this.#ownOf(uid, key)
    const isTrial = trial === own.circuit
    if (!isTrial && own.circuit.untilMs !== undefined) return
    own.failedMs = [...own.failedMs.filter((ms) => nowMs - ms < WITHIN_MS), nowMs]
    if (!isTrial && own.failedMs.length < FAILURES_MAX) return
    own.failedMs = []
    own.circuit.open(nowMs)
    if (isSameForAll(tool)) this.#meet(uid, key, nowMs)
  }

  /** Notes that a user's own circuit has opened. When several users have met this, the tool is closed to everybody. */
  #meet(uid: string, key: LayeredDigest, nowMs: number): void {
    if (nowMs < (this.#forEverybody.get(key) ?? nowMs)) return
    const met = this.#met.get(key) ?? new Map<string, number>()
    this.#met.set(key, met.set(uid, nowMs))
    for (const [other, ms] of met) if (nowMs - ms >= MET_WITHIN_MS) met.delete(other)
    if (met.size < USERS_MET) return
    this.#met.delete(key)
    this.#forEverybody.set(key, nowMs + OPEN_MS)
    this.#others?.tell(key, this.#now() + OPEN_MS)
  }

  #openedElsewhere(key: LayeredDigest, leftMs: number): void {
    const nowMs = this.#steadyMs()
    this.#met.delete(key)
    this.#forEverybody.set(key, Math.max(this.#forEverybody.get(key) ?? nowMs, nowMs + leftMs))
  }

  #openForEverybody(nowMs: number): readonly LayeredDigest[] {
    return [...this.#forEverybody].flatMap(([key, untilMs]) => (nowMs < untilMs ? [key] : []))
  }

  #ownOf(uid: string, key: LayeredDigest): OwnCircuit {
    const tools = this.#own.get(uid) ?? new Map<LayeredDigest, OwnCircuit>()
    const own = tools.get(key) ?? { circuit: new Circuit(), failedMs: [] }
    this.#own.set(uid, tools.set(key, own))
    const [oldest] = tools.keys()
    if (tools.size > TOOLS_MAX && oldest !== undefined) {
      tools.delete(oldest)
      // Otherwise the failing tools of one user could push out what others have met.
      this.#unmeet(uid, oldest)
    }
    return own
  }

  #unmeet(uid: string, key: LayeredDigest): void {
    const met = this.#met.get(key)
    if (met?.delete(uid) && met.size === 0) this.#met.delete(key)
  }

  /** The time after so many milliseconds: RFC 3339, UTC. */
  #timeAfter(ms: number): string {
    return new Date(this.#now() + ms).toISOString()
  }
}

/**
 * True if the failures of a tool for one user say something about other users. Nobody else calls a tool of a user's own layer, and
 * a tool that gets a secret of its caller may fail because of this secret.
 */
function isSameForAll({ layer, howRun }: CircuitTool): boolean {
  const secrets = howRun.by === 'python' ? howRun.secrets : []
  return layer !== 'user' && !secrets.some((secret) => wantedSecret(secret).isOfCaller)
}

function leftOf({ untilMs = 0 }: Circuit, nowMs: number): number {
  return Math.max(0, untilMs - nowMs)
}

function openIn(
  circuits: Iterable<readonly [LayeredDigest, OwnCircuit]>,
  nowMs: number,
): readonly LayeredDigest[] {
  return [...circuits].flatMap(([key, { circuit }]) => (circuit.stateAt(nowMs) === 'open' ? [key] : []))
}
