import { ToolrackError, type OwnedRules, type RuleOwner } from '@toolrack/contract'
import { LRUCache } from 'lru-cache'
import type { Log } from '../../log.ts'
import type { SessionSelection } from '../../tools/sessions/session-selection.ts'
import { ownedRules, ownerKey, type RuleSets } from './kept-rules.ts'
import { READ_DEADLINE_MS } from '../../tools/catalog/layer-cache.ts'
import { CachedRules, FIRST_READ_DEADLINE_MS } from './cached-rules.ts'
import type { MarkedRules } from './rule-marks.ts'
import type { RuleScope, RuleStore } from './rule-store.ts'
import { NO_RULES, RulesInForce } from './rules-in-force.ts'

/** The most users whose rules are in memory, and the most bytes of their texts. */
const USERS_MAX = 10_000
export const USER_RULES_BYTES_MAX = 32 * 1024 * 1024

/** The most combinations of a user's workflow, session and agent whose rules are joined and kept. */
const JOINED_MAX = 100

export type RuleBookParts = {
  readonly store: RuleStore
  readonly log: Log
  /** The operator's rules for everybody, which come before all others. */
  readonly operator?: OwnedRules | undefined
  /** Called after a change of rules by this instance. */
  readonly written?: () => void
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number
}

type UserRules = {
  readonly cached: CachedRules
  /** The rules in force, by the owners beside the user, as long as the sets are these. */
  joined:
    | {
        readonly shared: RuleSets | undefined
        readonly own: RuleSets | undefined
        readonly by: Map<string, RulesInForce>
      }
    | undefined
}

export type RulesStatus = 'fresh' | 'stale' | 'error'

type Caller = { readonly uid: string; readonly workflowId?: string | undefined }

/** The session through which something is listed or called. */
export type CallingSession = Pick<SessionSelection, 'lineage'>

const EVERYBODY: RuleOwner = { kind: 'everybody', id: 'all' }

/**
 * The rules that apply to each caller: the operator's, those for everybody, the user's, those of the workflow that the job token
 * names, and those of the session, of its parents and of their agents. They are in memory, and their revision is checked once a
 * second at most.
 */
export class RuleBook {
  readonly #parts: RuleBookParts
  readonly #shared: CachedRules
  readonly #users: LRUCache<string, UserRules>

  constructor(parts: RuleBookParts) {
    this.#parts = parts
    this.#shared = this.#cached({ kind: 'everybody' })
    this.#users = new LRUCache({
      max: USERS_MAX,
      maxSize: USER_RULES_BYTES_MAX,
      sizeCalculation: ({ cached }) => 1_024 + cached.bytes,
    })
  }

  /** The rules that apply to the caller. Throws STORE_FAILED if they could never be read, because nothing may run without them. */
  of(caller: Caller, session?: CallingSession): RulesInForce | Promise<RulesInForce> {
    const rules = this.#known(caller, session, FIRST_READ_DEADLINE_MS)
    return rules instanceof Promise ? rules.then(whole) : whole(rules)
  }

  /**
   * The rules by which tools are listed. If some could never be read, they are those that could, and `isWhole` is false: a list
   * runs nothing, and a caller without any tools would be worse off than one whose call is refused.
   */
  forList(caller: Caller, session?: CallingSession): RulesInForce | Promise<RulesInForce> {
    return this.#known(caller, session, READ_DEADLINE_MS.without)
  }

  /** Whether the rules for everybody, and those of the user if there is one, are fresh, the last good ones, or not known. */
  async status(caller?: { readonly uid: string }): Promise<RulesStatus> {
    const scopes = [this.#shared, ...(caller ? [this.#user(caller.uid).cached] : [])]
    await Promise.all(scopes.map((scope) => scope.current(READ_DEADLINE_MS.without)))
    if (scopes.some(({ sets }) => !sets)) return 'error'
    return scopes.every(({ isFresh }) => isFresh) ? 'fresh' : 'stale'
  }

  #known(
    caller: Caller,
    session: CallingSession | undefined,
    firstMs: number,
  ): RulesInForce | Promise<RulesInForce> {
    const user = this.#user(caller.uid)
    if (this.#shared.isReady(firstMs) && user.cached.isReady(firstMs))
      return this.#join(user, caller, session)
    const reads = [this.#shared.current(firstMs), user.cached.current(firstMs)]
    return Promise.all(reads).then(() => this.#join(user, caller, session))
  }

  /** To be called after a change, with the new sets, so that the next list and the next call obey them. */
  written(scope: RuleScope, text: string | undefined): void {
    if (scope.kind === 'everybody') this.#shared.put(text)
    else {
      const user = this.#user(scope.uid)
      user.cached.put(text)
      this.#remember(scope.uid, user)
    }
    this.#parts.written?.()
  }

  #join(user: UserRules, { uid, workflowId }: Caller, session?: CallingSession): RulesInForce {
    const shared = this.#shared.sets
    const own = user.cached.sets
    if (!user.joined || user.joined.shared !== shared || user.joined.own !== own) {
      user.joined = { shared, own, by: new Map() }
      this.#remember(uid, user)
    }
    const more = own ? [...rulesOf(own, 'workflow', workflowId), ...rulesThrough(own, session)] : []
    const key = more.map(({ owner }) => ownerKey(owner)).join('\n')
    const { by } = user.joined
    const known = by.get(key)
    if (known) return known
    const { operator } = this.#parts
    const owned = [
      ...(operator ? [operator] : []),
      ...ownedRules(shared ?? NONE, EVERYBODY),
      ...ownedRules(own ?? NONE, { kind: 'user', id: uid }),
      ...more,
    ]
    const isWhole = shared !== undefined && own !== undefined
    const rules = isWhole && owned.length === 0 ? NO_RULES : new RulesInForce(owned, isWhole)
    if (by.size <= JOINED_MAX) by.set(key, rules)
    return rules
  }

  #user(uid: string): UserRules {
    const known = this.#users.get(uid)
    if (known) return known
    const user = { cached: this.#cached({ kind: 'user', uid }), joined: undefined }
    this.#users.set(uid, user)
    return user
  }

  /** Measures the user's rules again. The cache measures a value only when it is new, so the entry is removed first. */
  #remember(uid: string, user: UserRules): void {
    this.#users.delete(uid)
    this.#users.set(uid, user)
  }

  #cached(scope: RuleScope): CachedRules {
    const { store, log, now = () => performance.now() } = this.#parts
    return new CachedRules(store, scope, { now, log })
  }
}

/** The sets of a scope that could not be read. */
const NONE: RuleSets = new Map()

const UNREADABLE = 'The rules that decide about this could not be read, so nothing was run; try again.'

function whole(rules: RulesInForce): RulesInForce {
  if (rules.isWhole) return rules
  throw new ToolrackError('STORE_FAILED', UNREADABLE)
}

function rulesOf(
  sets: RuleSets,
  kind: 'workflow' | 'session' | 'agent',
  id: string | null | undefined,
): readonly MarkedRules[] {
  return id === undefined || id === null ? [] : ownedRules(sets, { kind, id })
}

function rulesThrough(sets: RuleSets, session: CallingSession | undefined): readonly MarkedRules[] {
  if (!session || sets.size === 0) return []
  const ofSessions = session.lineage.flatMap(({ id }) => rulesOf(sets, 'session', id))
  const agents = new Set(session.lineage.map(({ agent }) => agent))
  return [...ofSessions, ...[...agents].flatMap((agent) => rulesOf(sets, 'agent', agent))]
}
