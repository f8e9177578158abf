import { ToolrackError, type Digest } from '@toolrack/contract'
import { LRUCache } from 'lru-cache'
import { keyOf, put, remove, type Collection, type Planned, type Ref } from '../../documents/collection.ts'
import type { Documents, Kept } from '../../documents/documents.ts'
import { isText, listOf, object } from '../../value-shape.ts'
import { REVISION_CHECK_MS } from '../../catalog/views/layer-cache.ts'
import { holds, type Precondition } from '../../precondition.ts'
import { readScope, scopeDigest, VERSIONS_KEPT_MAX } from './kept-scope.ts'
import type { KeptScope, ScopeContent, ScopeOwner, ScopeVersion } from './kept-scope.ts'

/** The most scopes of one user: those of rooms, sessions, agents and workflows. `GET /scopes` reads all of them. */
export const USER_SCOPES_MAX = 1_000
/** The most bytes of one user's scopes with all their versions. */
export const USER_SCOPES_BYTES_MAX = 4 * 1024 * 1024

/** One version of a stored scope with its owner: the fields of its document. */
type KeptFields = ScopeOwner & ScopeContent & { readonly digest: Digest; readonly updatedAt: string }

const SCOPES: Collection<KeptFields> = {
  name: 'scopes',
  owner: 'user',
  fields: object<Pick<KeptFields, 'id' | 'scope' | 'pinned'>>({
    id: isText,
    scope: isText,
    pinned: listOf(isText),
  }) as (value: unknown) => value is KeptFields,
  quota: {
    count: USER_SCOPES_MAX,
    bytes: USER_SCOPES_BYTES_MAX,
    refuse: ({ count }) => new ToolrackError('SCOPES_FULL', count > USER_SCOPES_MAX ? TOO_MANY : TOO_LARGE),
  },
  versions: VERSIONS_KEPT_MAX,
}

const TOO_MANY = `You have ${USER_SCOPES_MAX} stored scopes, as many as you may; delete some first.`
const TOO_LARGE = `Your stored scopes would have more than ${USER_SCOPES_BYTES_MAX} bytes; delete some first.`

/** The most stored scopes in memory, so that lists do not read them from the store each time. */
const REMEMBERED_MAX = 10_000
/** The most UTF-16 code units of the stored scopes in memory. */
const REMEMBERED_LENGTH_MAX = 16 * 1024 * 1024

type Parts = {
  readonly documents: Documents
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
  /** The digest of the content before the write. Undefined for a new scope. */
  readonly before: Digest | undefined
}

/** Reads the stored scopes of users for lists, and writes them. The caller has been authorized. */
export class StoredScopes {
  readonly #documents: Documents
  readonly #now: () => number
  readonly #written: () => void
  /**
   * The stored scopes in memory. A list may need four of them, and clients ask for a list before each call of their model. So
   * each scope is read from the store at most once a second.
   */
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

  constructor({ documents, now, written = () => undefined }: Parts) {
    this.#documents = documents
    this.#now = now
    this.#written = written
  }

  /** Finds the stored scope of an owner. Undefined if there is none. A write of another instance is seen after a second. */
  async find(uid: string, owner: ScopeOwner): Promise<KeptScope | undefined> {
    const key = `${uid} ${ownerText(owner)}`
    const known = this.#remembered.get(key)
    if (known) return known.kept
    const writes = this.#writes
    const [found] = await this.#documents.read(uid, [refOf(owner)])
    const kept = found && readScope(versionIn(found))
    // A read that began before a write may be older than that write.
    if (writes === this.#writes)
      this.#remembered.set(key, { kept, size: key.length + (found?.text.length ?? 0) })
    return kept
  }

  /** The kept versions of a scope, the newest first. The first is the present one. Empty if there is no scope. */
  async versions(uid: string, owner: ScopeOwner): Promise<readonly ScopeVersion[]> {
    return (await this.#documents.history(uid, refOf(owner))).map(versionIn)
  }

  /** The present scopes of a user, sorted by owner. */
  async all(uid: string): Promise<readonly { readonly owner: ScopeOwner; readonly present: ScopeVersion }[]> {
    const found = await this.#documents.list(uid, SCOPES, { limit: USER_SCOPES_MAX })
    return found
      .map((kept) => ({ owner: ownerIn(kept.fields), present: readScope(versionIn(kept)).present }))
      .toSorted((a, b) => (ownerText(a.owner) < ownerText(b.owner) ? -1 : 1))
  }

  /**
   * Writes the content that `decide` makes of the present content. The present content is undefined if there is no scope yet.
   * Throws PRECONDITION_FAILED, or SCOPES_FULL if the user's scopes would exceed their limits.
   */
  write(
    { uid, owner, precondition }: ScopeTarget,
    decide: (content: ScopeContent | undefined) => ScopeContent,
  ): Promise<WrittenScope> {
    const updatedAt = new Date(this.#now()).toISOString()
    return this.#change<WrittenScope>(uid, owner, (found) => {
      const present = found && versionIn(found)
      const before = present?.digest
      refuseOtherState(precondition, before)
      const content = decide(present)
      const digest = scopeDigest(content)
      if (present && before === digest) return { result: { outcome: 'unchanged', present, before } }
      const fields = { ...owner, ...content, digest, updatedAt }
      const version = (present?.version ?? 0) + 1
      return {
        result: {
          outcome: present ? 'updated' : 'created',
          present: versionIn({ version, fields }),
          before,
        },
        writes: [put(refOf(owner), fields)],
      }
    })
  }

  /** Deletes the scope with its versions. Throws SCOPE_NOT_FOUND or PRECONDITION_FAILED. */
  delete({ uid, owner, precondition }: ScopeTarget): Promise<Digest> {
    return this.#change(uid, owner, (found) => {
      if (!found) throw scopeNotFound(owner)
      const { digest } = found.fields
      refuseOtherState(precondition, digest)
      return { result: digest, writes: [remove(refOf(owner))] }
    })
  }

  async #change<Result>(
    uid: string,
    owner: ScopeOwner,
    plan: (found: Kept<KeptFields> | undefined) => Planned<Result>,
  ): Promise<Result> {
    try {
      return await this.#documents.change(uid, [refOf(owner)], ([found]) => plan(found))
    } finally {
      // This is also done after an error, because the store may have written although its answer was lost.
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

function refOf(owner: ScopeOwner): Ref<KeptFields> {
  return { of: SCOPES, key: keyOf(owner) }
}

function ownerIn({ kind, id }: KeptFields): ScopeOwner {
  return { kind, id }
}

function versionIn({ version, fields }: Pick<Kept<KeptFields>, 'version' | 'fields'>): ScopeVersion {
  const { digest, updatedAt, scope, pinned } = fields
  return { version, digest, updatedAt, scope, pinned }
}
