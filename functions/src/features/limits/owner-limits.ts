import { canonicalJson, ToolrackError, type Digest } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import {
  EVERYBODY,
  keyOf,
  put,
  remove,
  type Collection,
  type Planned,
  type Ref,
} from '../../documents/collection.ts'
import type { Documents, Kept } from '../../documents/documents.ts'
import type { Log } from '../../log.ts'
import { holds, type Precondition } from '../../precondition.ts'
import { isText, object } from '../../value-shape.ts'
import { withinMs } from '../../within-ms.ts'
import type { CallLimits } from '../../call-limits.ts'

/** The kinds of owners for whom admins can set limits. The limits of a workflow bound the jobs of each user separately. */
export const LIMIT_KINDS = ['user', 'workflow'] as const
export type LimitOwner = { readonly kind: (typeof LIMIT_KINDS)[number]; readonly id: string }

/** The limits of an owner as they are stored. `digest` is also the entity tag. `updatedAt` is ISO 8601, UTC. */
export type KeptLimits = {
  readonly limits: CallLimits
  readonly digest: Digest
  readonly updatedAt: string
  readonly updatedBy: string
}

/** The most owners with limits. An admin writes them, so this only stops a program that has run wild. */
export const LIMIT_OWNERS_MAX = 100_000

const isLimits = object<object>({})
const LIMITS: Collection<KeptLimits> = {
  name: 'limits',
  owner: 'everybody',
  fields: object<object>({
    limits: isLimits,
    digest: isText,
    updatedAt: isText,
    updatedBy: isText,
  }) as (value: unknown) => value is KeptLimits,
  quota: {
    count: LIMIT_OWNERS_MAX,
    refuse: () =>
      new ToolrackError('ITEMS_FULL', FULL, { details: [{ reason: 'ITEMS_FULL', kind: 'limits' }] }),
  },
}

const FULL = `There are limits of ${LIMIT_OWNERS_MAX.toLocaleString('en')} owners, as many as may be; delete some first.`

/** The most owners whose limits are in memory. Those who called last stay. An owner without limits takes a place too. */
const REMEMBERED_MAX = 10_000
/**
 * Milliseconds after which limits are read again if other processes may write them. A write is in force everywhere after this
 * time. Each user who calls costs one read in this time.
 */
export const REREAD_MS = 10_000
/** Milliseconds that the first call of an owner waits for the limits. After that it runs without them. */
const FIRST_READ_MS = 1_500

type Known = { limits: CallLimits | undefined; atMs: number; reading: Promise<void> | undefined }

type Parts = {
  readonly documents: Documents
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly log: Pick<Log, 'warn' | 'info'>
  /** True if other processes write the documents too. */
  readonly isShared: boolean
  /** Milliseconds of a clock that never goes back. */
  readonly clock: () => number
}

export type WrittenLimits = KeptLimits & { readonly outcome: 'created' | 'updated' | 'unchanged' }

/** Reads and writes the limits that admins have set. The caller has been authorized. */
export class OwnerLimits {
  readonly #parts: Parts
  readonly #known = new LRUCache<string, Known>({ max: REMEMBERED_MAX })
  #isLost = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * The limits of an owner. Only the first call of an owner waits for the store. Later calls get what is known, which is read
   * again in the background. Never rejects: if the store is down, the last known limits count, or else none.
   */
  of(owner: LimitOwner): CallLimits | undefined | Promise<CallLimits | undefined> {
    const known = this.#known.get(textOf(owner))
    if (!known) return this.#first(owner)
    const { isShared, clock } = this.#parts
    if (isShared && known.atMs !== -Infinity && clock() - known.atMs >= REREAD_MS)
      void this.#read(owner, known)
    return known.atMs === -Infinity ? this.#waited(owner, known) : known.limits
  }

  async find(owner: LimitOwner): Promise<KeptLimits | undefined> {
    const [found] = await this.#parts.documents.read(EVERYBODY, [refOf(owner)])
    return found?.fields
  }

  /** Writes the limits. Throws PRECONDITION_FAILED or ITEMS_FULL. */
  async put(
    owner: LimitOwner,
    limits: CallLimits,
    by: { readonly uid: string; readonly precondition: Precondition },
  ): Promise<WrittenLimits> {
    const digest = digestOf(limits)
    const updatedAt = new Date(this.#parts.now()).toISOString()
    const written = await this.#change<WrittenLimits>(owner, by.precondition, (found) => {
      if (found?.fields.digest === digest) return { result: { ...found.fields, outcome: 'unchanged' } }
      const fields = { limits, digest, updatedAt, updatedBy: by.uid }
      return {
        result: { ...fields, outcome: found ? 'updated' : 'created' },
        writes: [put(refOf(owner), fields)],
      }
    })
    this.#remember(owner, limits)
    return written
  }

  /** Deletes the limits. Throws ITEM_NOT_FOUND or PRECONDITION_FAILED. */
  async delete(owner: LimitOwner, precondition: Precondition): Promise<Digest> {
    const digest = await this.#change(owner, precondition, (found) => {
      if (!found) throw limitsNotFound()
      return { result: found.fields.digest, writes: [remove(refOf(owner))] }
    })
    this.#remember(owner, undefined)
    return digest
  }

  async #change<Result>(
    owner: LimitOwner,
    precondition: Precondition,
    plan: (found: Kept<KeptLimits> | undefined) => Planned<Result>,
  ): Promise<Result> {
    try {
      return await this.#parts.documents.change(EVERYBODY, [refOf(owner)], ([found]) => {
        if (!holds(precondition, found?.fields.digest))
          throw new ToolrackError('PRECONDITION_FAILED', NOT_IN_STATE)
        return plan(found)
      })
    } catch (error) {
      // The store may have written although its answer was lost, so the limits are read again.
      this.#known.delete(textOf(owner))
      throw error
    }
  }

  #remember(owner: LimitOwner, limits: CallLimits | undefined): void {
    // A new object, so that a read that began before the write does not replace what was written.
    this.#known.set(textOf(owner), { limits, atMs: this.#parts.clock(), reading: undefined })
  }

  #first(owner: LimitOwner): Promise<CallLimits | undefined> {
    const known: Known = { limits: undefined, atMs: -Infinity, reading: undefined }
    this.#known.set(textOf(owner), known)
    return this.#waited(owner, known)
  }

  async #waited(owner: LimitOwner, known: Known): Promise<CallLimits | undefined> {
    await withinMs(FIRST_READ_MS, this.#read(owner, known), () => {
      // Later calls do not wait again until this read has ended.
      known.atMs = this.#parts.clock()
      this.#lose(new Error(`they were not read within ${FIRST_READ_MS} ms`))
    })
    return known.limits
  }

  /** Reads the limits once for all callers. Never rejects. */
  #read(owner: LimitOwner, known: Known): Promise<void> {
    const { clock, log } = this.#parts
    known.reading ??= this.find(owner)
      .then(
        (kept) => {
          known.limits = kept?.limits
          if (this.#isLost) log.info('the limits of calls can be read again')
          this.#isLost = false
        },
        (error: unknown) => this.#lose(error),
      )
      .finally(() => {
        known.atMs = clock()
        known.reading = undefined
      })
    return known.reading
  }

  #lose(error: unknown): void {
    const reason = error instanceof Error ? error.message : 'unknown'
    if (!this.#isLost)
      this.#parts.log.warn('limits of calls could not be read, so the last known ones count', { reason })
    this.#isLost = true
  }
}

const NOT_IN_STATE = 'The limits are not in the state the request asks for.'

export function limitsNotFound(
  message = 'No admin has set limits for it; PUT /limits/KIND/ID sets them.',
): ToolrackError {
  return new ToolrackError('ITEM_NOT_FOUND', message, {
    details: [{ reason: 'ITEM_NOT_FOUND', kind: 'limits' }],
  })
}

function textOf({ kind, id }: LimitOwner): string {
  return `${kind}/${id}`
}

function digestOf({ callsPerMinute, concurrent }: CallLimits): Digest {
  const text = canonicalJson({ callsPerMinute: callsPerMinute ?? null, concurrent: concurrent ?? null })
  return `sha256:${createHash('sha256').update(text).digest('hex')}`
}

function refOf(owner: LimitOwner): Ref<KeptLimits> {
  return { of: LIMITS, key: keyOf(owner) }
}
