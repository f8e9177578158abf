import { ToolrackError, type Digest } from '@toolrack/contract'
import { LRUCache } from 'lru-cache'
import { REVISION_CHECK_MS } from '../../catalog/views/layer-cache.ts'
import { holds, type Precondition } from '../../precondition.ts'
import { readScope, scopeDigest, scopeText, VERSIONS_KEPT_MAX } from './kept-scope.ts'
import type { KeptScope, ScopeContent, ScopeVersion } from './kept-scope.ts'
import type { PlannedScope, ScopeOwner, ScopeStore, ScopeTotals } from './scope-store.ts'

/** The most scopes of one user, and the most UTF-8 bytes of them with all their versions. */
export const USER_SCOPES_MAX = 1_000
export const USER_SCOPES_BYTES_MAX = 4 * 1024 * 1024

/** The most owners whose scopes are in memory, and the most UTF-16 code units of their texts. */
const REMEMBERED_MAX = 10_000
const REMEMBERED_LENGTH_MAX = 16 * 1024 * 1024

type Parts = {
  readonly store: ScopeStore
  readonly now: () => number
  /** Called after a write by this instance. */
  readonly written?: () => void
}

export type ScopeTarget = {
  readonly uid: string
  readonly owner: ScopeOwner
  readonly precondition: Precondition
}

export type WrittenScope = {
  readonly outcome: 'created' | 'updated' | 'unchanged'
  readonly present: ScopeVersion
  /** The digest of the scope as it was. Undefined for a new one. */
  readonly before: Digest | undefined
}

/** The stored scopes of users: their reads for lists, and their writes. The caller has been authorised. */
export class StoredScopes {
  readonly #store: ScopeStore
  readonly #now: () => number
  readonly #written: () => void
  /** A list may ask for four of them, and is asked for before each call of a model, so they are read once a second at most. */
  readonly #remembered = new LRUCache<
    string,
    { readonly kept: KeptScope | undefined; readonly size: number }
  >({
    max: REMEMBERED_MAX,
    maxSize: REMEMBERED_LENGTH_MAX,
    sizeCalculation: ({ size }) => size,
    ttl: REVISION_CHECK_MS,
  })
  #writes = 0

  constructor({ store, now, written = () => undefined }: Parts) {
    this.#store = store
    this.#now = now
    this.#written = written
  }

  /** Undefined if the owner has no scope. A write of another instance is seen after a second. */
  async find(uid: string, owner: ScopeOwner): Promise<KeptScope | undefined> {
    const key = `${uid} ${ownerText(owner)}`
    const known = this.#remembered.get(key)
    if (known) return known.kept
    const writes = this.#writes
    const text = await this.#store.read(uid, owner)
    const kept = text === undefined ? undefined : readScope(text)
    // A read that began before a write may be older than it.
    if (writes === this.#writes) this.#remembered.set(key, { kept, size: key.length + (text?.length ?? 0) })
    return kept
  }

  /** The present scopes of a user, sorted by owner. */
  async all(uid: string): Promise<readonly { readonly owner: ScopeOwner; readonly present: ScopeVersion }[]> {
    const found = await this.#store.all(uid)
    return found
      .map(({ owner, text }) => ({ owner, present: readScope(text).present }))
      .toSorted((a, b) => (ownerText(a.owner) < ownerText(b.owner) ? -1 : 1))
  }

  /**
   * Writes what `decide` makes of the present content, which is undefined if there is none. Throws PRECONDITION_FAILED, or
   * SCOPES_FULL if the scopes do not fit into their bounds.
   */
  write(
    { uid, owner, precondition }: ScopeTarget,
    decide: (content: ScopeContent | undefined) => ScopeContent,
  ): Promise<WrittenScope> {
    const updatedAt = new Date(this.#now()).toISOString()
    return this.#change<WrittenScope>(uid, owner, (text, totals) => {
      const kept = text === undefined ? undefined : readScope(text)
      refuseOtherState(precondition, kept?.present.digest)
      const content = decide(kept?.present)
      const digest = scopeDigest(content)
      const before = kept?.present.digest
      if (kept && before === digest)
        return { text, result: { outcome: 'unchanged', present: kept.present, before } }
      const version = (kept?.present.version ?? 0) + 1
      const present = { version, digest, updatedAt, ...content }
      return {
        text: boundedText([present, ...(kept?.versions ?? [])], totals, text),
        result: { outcome: kept ? 'updated' : 'created', present, before },
      }
    })
  }

  /** Deletes the scope with its versions. Throws SCOPE_NOT_FOUND or PRECONDITION_FAILED. */
  delete({ uid, owner, precondition }: ScopeTarget): Promise<Digest> {
    return this.#change(uid, owner, (text) => {
      if (text === undefined) throw scopeNotFound(owner)
      const { digest } = readScope(text).present
      refuseOtherState(precondition, digest)
      return { text: undefined, result: digest }
    })
  }

  async #change<Result>(
    uid: string,
    owner: ScopeOwner,
    plan: (text: string | undefined, totals: ScopeTotals) => PlannedScope<Result>,
  ): Promise<Result> {
    try {
      return await this.#store.change(uid, owner, plan)
    } finally {
      // Also after an error: the store may have written although its answer was lost.
      this.#writes += 1
      this.#remembered.delete(`${uid} ${ownerText(owner)}`)
      this.#written()
    }
  }
}

export function ownerText({ kind, id }: ScopeOwner): string {
  return `${kind}/${id}`
}

export function scopeNotFound({ kind }: Pick<ScopeOwner, 'kind'>): ToolrackError {
  const message = `You have stored no scope for that ${kind}; PUT /scopes/KIND/ID stores one.`
  return new ToolrackError('SCOPE_NOT_FOUND', message, { details: [{ reason: 'SCOPE_NOT_FOUND', kind }] })
}

function refuseOtherState(precondition: Precondition, digest: Digest | undefined): void {
  if (!holds(precondition, digest))
    throw new ToolrackError('PRECONDITION_FAILED', 'The scope is not in the state the request asks for.')
}

/** The text of the versions that are kept. If there is no room for all of them, only the present one is kept. */
function boundedText(
  versions: readonly ScopeVersion[],
  { scopes, bytes }: ScopeTotals,
  before: string | undefined,
): string {
  if (before === undefined && scopes >= USER_SCOPES_MAX)
    throw full(`You have ${USER_SCOPES_MAX} stored scopes, as many as you may; delete some first.`)
  const bytesBefore = before === undefined ? 0 : Buffer.byteLength(before)
  for (const kept of [versions.slice(0, VERSIONS_KEPT_MAX), versions.slice(0, 1)]) {
    const text = scopeText(kept)
    const more = Buffer.byteLength(text) - bytesBefore
    if (more <= 0 || bytes + more <= USER_SCOPES_BYTES_MAX) return text
  }
  throw full(`Your stored scopes would have more than ${USER_SCOPES_BYTES_MAX} bytes; delete some first.`)
}

function full(message: string): ToolrackError {
  return new ToolrackError('SCOPES_FULL', message)
}
