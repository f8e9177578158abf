import { ToolrackError, type OwnedRules, type RuleOwner } from '@toolrack/contract'
import { LRUCache } from 'lru-cache'
import type { Log } from '../../log.ts'
import type { CallingSession } from '../../catalog/views/session-selection.ts'
import { ownedRules, ownerKey, readRuleSets, type RuleSets } from './kept-rules.ts'
import { READ_DEADLINE_MS } from '../../catalog/views/layer-cache.ts'
import type { AgentStore } from '../agents/agent-store.ts'
import { CachedText, FIRST_READ_DEADLINE_MS } from './cached-text.ts'
import { LinkedAgents, type AgentsOfSession } from './linked-agents.ts'
import type { MarkedRules } from './rule-marks.ts'
import type { RuleScope, RuleStore } from './rule-store.ts'
import { NO_RULES, RulesInForce } from './rules-in-force.ts'

/** The most users whose rules are in memory. The users who called last stay. */
const USERS_MAX = 10_000
/** The most bytes of users' rules in memory. Rules that no longer fit are read again when they are needed. */
export const USER_RULES_BYTES_MAX = 32 * 1024 * 1024

/**
 * The most combinations of workflow, session and agent for which a user's joined rules are kept. For more combinations, the rules
 * are joined at each call.
 */
const JOINED_MAX = 100

export type RuleBookParts = {
  readonly store: Pick<RuleStore, 'open' | 'read'>
  /** Finds which agents sessions are linked to. Undefined where there are no links. */
  readonly agents?: Pick<AgentStore, 'open' | 'linkedAgents'> | undefined
  readonly log: Log
  /** The operator's rules for everybody. They come before all other rules. */
  readonly operator?: OwnedRules | undefined
  /** Called after a change of rules by this instance. */
  readonly written?: () => void
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number
}

type CachedRules = CachedText<RuleSets>

type UserRules = {
  readonly cached: CachedRules
  /**
   * The joined rules of the user. The key in `by` has the owners other than the user. They are valid as long as `shared` and
   * `own` are the present rule sets.
   */
  joined:
    | {
        readonly shared: RuleSets | undefined
        readonly own: RuleSets | undefined
        /** True if the user has rules for any agent. */
        readonly hasAgents: boolean
        readonly by: Map<string, RulesInForce>
      }
    | undefined
}

export type RulesStatus = 'fresh' | 'stale' | 'error'

type Caller = { readonly uid: string; readonly workflowId?: string | undefined }

const EVERYBODY: RuleOwner = { kind: 'everybody', id: 'all' }

/**
 * The rules that apply to each caller, in this order:
 *
 * - the operator's rules,
 * - the rules for everybody,
 * - the rules of the user,
 * - the rules of the workflow that the job token names,
 * - the rules of the session, of its parents, and of the agents of these sessions.
 *
 * An agent can be named by a session or linked to it. All rules are in memory. The store is read at most once a second.
 */
export class RuleBook {
  readonly #parts: RuleBookParts
  readonly #shared: CachedRules
  readonly #users: LRUCache<string, UserRules>
  readonly #links: LinkedAgents | undefined

  constructor(parts: RuleBookParts) {
    this.#parts = parts
    const { agents: store, log, now = () => performance.now() } = parts
    this.#links = store && new LinkedAgents({ store, log, now })
    this.#shared = this.#cached({ kind: 'everybody' })
    this.#users = new LRUCache({
      max: USERS_MAX,
      maxSize: USER_RULES_BYTES_MAX,
      sizeCalculation: ({ cached }) => 1_024 + cached.bytes,
    })
  }

  /**
   * The rules that apply to the calls of a caller. Rejects with STORE_FAILED if they could never be read, because no call may run
   * without its rules.
   */
  async of(caller: Caller, session?: CallingSession): Promise<RulesInForce> {
    return whole(await this.#known(caller, session, FIRST_READ_DEADLINE_MS))
  }

  /**
   * The rules by which the tools of a list are hidden. If some rules could never be read, returns the others, and `isWhole` is
   * false. This is safe: a list runs nothing, and every call is refused.
   */
  forList(caller: Caller, session?: CallingSession): RulesInForce | Promise<RulesInForce> {
    return this.#known(caller, session, READ_DEADLINE_MS.without)
  }

  /**
   * Says whether the rules for everybody are fresh, stale or unknown. With `caller`, the answer is also about the rules of this
   * user.
   */
  async status(caller?: { readonly uid: string }): Promise<RulesStatus> {
    const scopes = [this.#shared, ...(caller ? [this.#user(caller.uid).cached] : [])]
    await Promise.all(scopes.map((scope) => scope.current(READ_DEADLINE_MS.without)))
    if (scopes.some(({ value }) => !value)) return 'error'
    return scopes.every(({ isFresh }) => isFresh) ? 'fresh' : 'stale'
  }

  #known(
    caller: Caller,
    session: CallingSession | undefined,
    firstMs: number,
  ): RulesInForce | Promise<RulesInForce> {
    const user = this.#user(caller.uid)
    if (this.#shared.isReady(firstMs) && user.cached.isReady(firstMs)) {
      const links = this.#linksOf(user, caller, session)
      if (links.every(([, link]) => link.isReady(firstMs))) return this.#join(user, caller, session, links)
    }
    return this.#read(user, caller, session, firstMs)
  }

  async #read(
    user: UserRules,
    caller: Caller,
    session: CallingSession | undefined,
    firstMs: number,
  ): Promise<RulesInForce> {
    await Promise.all([this.#shared.current(firstMs), user.cached.current(firstMs)])
    const links = this.#linksOf(user, caller, session)
    await Promise.all(links.map(([, link]) => link.current(firstMs)))
    return this.#join(user, caller, session, links)
  }

  /** The agents that are linked to the session and its parents. If the user has no rules for agents, the links are not read. */
  #linksOf(user: UserRules, { uid }: Caller, session: CallingSession | undefined): Links {
    const links = this.#links
    if (!links || !session || !this.#joined(user, uid).hasAgents) return []
    return session.lineage.flatMap(({ id }) => (id === '' ? [] : [[id, links.of(uid, id)] as const]))
  }

  /** To be called after a change of a session's link to an agent, so that the next list and the next call use the new link. */
  linked(uid: string, sessionId: string): void {
    this.#links?.changed(uid, sessionId)
    this.#parts.written?.()
  }

  /** To be called after a change of rules, with the new text, so that the next list and the next call use it. */
  written(scope: RuleScope, text: string | undefined): void {
    if (scope.kind === 'everybody') this.#shared.put(text)
    else {
      const user = this.#user(scope.uid)
      user.cached.put(text)
      this.#remember(scope.uid, user)
    }
    this.#parts.written?.()
  }

  /** The joined rules of a user that are kept for the present rule sets. Empty after a change of a set. */
  #joined(user: UserRules, uid: string): NonNullable<UserRules['joined']> {
    const shared = this.#shared.value
    const own = user.cached.value
    if (user.joined && user.joined.shared === shared && user.joined.own === own) return user.joined
    const hasAgents = own !== undefined && [...own.keys()].some((owner) => owner.startsWith(OF_AGENT))
    const joined = { shared, own, hasAgents, by: new Map<string, RulesInForce>() }
    user.joined = joined
    this.#remember(uid, user)
    return joined
  }

  #join(
    user: UserRules,
    { uid, workflowId }: Caller,
    session: CallingSession | undefined,
    links: Links,
  ): RulesInForce {
    const { shared, own, by } = this.#joined(user, uid)
    const linked = links.flatMap(([, { value = [] }]) => value)
    const more = own ? [...rulesOf(own, 'workflow', workflowId), ...rulesThrough(own, session, linked)] : []
    const isLinked = links.every(([, { value }]) => value !== undefined)
    const key = [...more.map(({ owner }) => ownerKey(owner)), ...(isLinked ? [] : [LINKS_LOST])].join('\n')
    const known = by.get(key)
    if (known) return known
    const { operator } = this.#parts
    const owned = [
      ...(operator ? [operator] : []),
      ...ownedRules(shared ?? NONE, EVERYBODY),
      ...ownedRules(own ?? NONE, { kind: 'user', id: uid }),
      ...more,
    ]
    const isWhole = shared !== undefined && own !== undefined && isLinked
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

  /**
   * Puts the user into the cache again, with the new size of the user's rules. The cache measures only new entries, so the entry
   * is removed first.
   */
  #remember(uid: string, user: UserRules): void {
    this.#users.delete(uid)
    this.#users.set(uid, user)
  }

  #cached(scope: RuleScope): CachedRules {
    const { store, log, now = () => performance.now() } = this.#parts
    const read = () => store.read(scope)
    const source = { what: 'rules', scope: scope.kind, open: store.open, read, parse: readRuleSets }
    return new CachedText(source, { now, log })
  }
}

/** For each session and parent, the agents that are linked to it. */
type Links = readonly (readonly [sessionId: string, agents: AgentsOfSession])[]

/** In the key of joined rules, stands for linked agents that could not be read. No owner has this key. */
const LINKS_LOST = '?'

/** The prefix of an owner's key if the owner is an agent. */
const OF_AGENT = 'agent/'

/** Stands for the rule sets of a scope that could not be read. */
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

function rulesThrough(
  sets: RuleSets,
  session: CallingSession | undefined,
  linked: readonly string[],
): readonly MarkedRules[] {
  if (!session || sets.size === 0) return []
  const ofSessions = session.lineage.flatMap(({ id }) => rulesOf(sets, 'session', id))
  const agents = new Set([...session.lineage.map(({ agent }) => agent), ...linked])
  return [...ofSessions, ...[...agents].flatMap((agent) => rulesOf(sets, 'agent', agent))]
}
