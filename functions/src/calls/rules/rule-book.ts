import { ToolrackError, type OwnedRules, type RuleOwner } from '@toolrack/contract'
import { LRUCache } from 'lru-cache'
import type { Log } from '../../log.ts'
import type { SessionSelection } from '../../tools/sessions/session-selection.ts'
import { ownedRules, ownerKey, type RuleSets } from './kept-rules.ts'
import { CachedRules } from './cached-rules.ts'
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
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number
}

type UserRules = {
  readonly cached: CachedRules
  /** The rules in force, by the owners beside the user, as long as the sets are these. */
  joined:
    { readonly shared: RuleSets; readonly own: RuleSets; readonly by: Map<string, RulesInForce> } | undefined
}

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
    const user = this.#user(caller.uid)
    if (this.#shared.isChecked && user.cached.isChecked) return this.#join(user, caller, session)
    return Promise.all([this.#shared.current(), user.cached.current()]).then(() =>
      this.#join(user, caller, session),
    )
  }

  /** The first read of the rules for everybody. Never rejects. */
  async load(): Promise<void> {
    await this.#shared.current()
  }

  /** To be called after a change, with the new sets, so that the next list and the next call obey them. */
  written(scope: RuleScope, text: string | undefined): void {
    if (scope.kind === 'everybody') return this.#shared.put(text)
    const user = this.#user(scope.uid)
    user.cached.put(text)
    // The entry is set again, because only then the cache measures its size.
    this.#users.set(scope.uid, user)
  }

  #join(user: UserRules, { uid, workflowId }: Caller, session?: CallingSession): RulesInForce {
    const shared = this.#shared.sets
    const own = user.cached.sets
    if (!shared || !own) throw new ToolrackError('STORE_FAILED', UNREADABLE)
    if (user.joined?.shared !== shared || user.joined.own !== own) {
      user.joined = { shared, own, by: new Map() }
      this.#users.set(uid, user)
    }
    const more = [...rulesOf(own, 'workflow', workflowId), ...rulesThrough(own, session)]
    const key = more.map(({ owner }) => ownerKey(owner)).join('\n')
    const { by } = user.joined
    const known = by.get(key)
    if (known) return known
    const { operator } = this.#parts
    const owned = [
      ...(operator ? [operator] : []),
      ...ownedRules(shared, EVERYBODY),
      ...ownedRules(own, { kind: 'user', id: uid }),
      ...more,
    ]
    const rules = owned.length === 0 ? NO_RULES : new RulesInForce(owned)
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

  #cached(scope: RuleScope): CachedRules {
    const { store, log, now = () => performance.now() } = this.#parts
    return new CachedRules(store, scope, { now, log })
  }
}

function rulesOf(
  sets: RuleSets,
  kind: 'workflow' | 'session' | 'agent',
  id: string | null | undefined,
): readonly OwnedRules[] {
  return id === undefined || id === null ? [] : ownedRules(sets, { kind, id })
}

function rulesThrough(sets: RuleSets, session: CallingSession | undefined): readonly OwnedRules[] {
  if (!session || sets.size === 0) return []
  const ofSessions = session.lineage.flatMap(({ id }) => rulesOf(sets, 'session', id))
  const agents = new Set(session.lineage.map(({ agent }) => agent))
  return [...ofSessions, ...[...agents].flatMap((agent) => rulesOf(sets, 'agent', agent))]
}

const UNREADABLE = 'The rules could not be read, so nothing is listed and nothing was run; try again.'
