import { grantsDigest, isJsonObject, ToolrackError, type Digest, type Grant } from '@toolrack/contract'
import { hash } from 'node:crypto'
import { isDigest } from '../../access/job-token.ts'
import { decideConsent, type Consent, type GrantPolicy } from '../../catalog/definitions/decide-consent.ts'
import { EVERYBODY, put, type Collection, type Ref } from '../../documents/collection.ts'
import type { Documents } from '../../documents/documents.ts'
import { isText, listOf, object } from '../../value-shape.ts'
import { withinMs } from '../../within-ms.ts'

/** A module of a watched folder, and what its tools ask for. */
export type FileModule = {
  readonly folder: string
  readonly module: string
  readonly grants: readonly Grant[]
}

/** What was decided last about the grants of a module of a folder. */
type Decided = Consent & {
  readonly module: string
  readonly grants: readonly Grant[]
  /** True if the last decision was to revoke the consent. */
  readonly isRevoked: boolean
}

/**
 * The most modules of folders whose consent is kept. A consent stays when its file is deleted, because editors delete and write
 * files. A folder has at most 500 modules.
 */
const CONSENTS_MAX = 10_000

const CONSENTS: Collection<Decided> = {
  name: 'file-grants',
  owner: 'everybody',
  fields: object<Decided>({
    module: isText,
    digest: isDigest,
    grants: listOf((value: unknown): value is Grant => isJsonObject(value) && isText(value['value'])),
    isRevoked: (value): value is boolean => typeof value === 'boolean',
    by: isText,
    at: isText,
  }),
  quota: {
    count: CONSENTS_MAX,
    refuse: () => new ToolrackError('ITEMS_FULL', 'Too many modules of folders have consents.'),
  },
}

/** Says since when the grants of folders are recorded. */
const BEGUN: Collection<{ readonly at: string }> = {
  name: 'file-grants-begun',
  owner: 'everybody',
  fields: object({ at: isText }),
}
const BEGUN_REF: Ref<{ readonly at: string }> = { of: BEGUN, key: 'begun' }

/** The author of the consents that modules get which were in the folder before grants were recorded. */
export const BY_UPGRADE = 'an earlier version'

/**
 * How many milliseconds a read of the file layer waits for the consents. An embedded store answers sooner. A layer read has
 * 300 ms in all.
 */
const READ_MS_MAX = 100

type Parts = {
  readonly documents: Documents
  readonly now: () => number
  readonly policy: GrantPolicy
  /** True if other processes use the documents too, so that they are read again for each read of the layer. */
  readonly isShared: boolean
  /** True if the data of this service are older than the records of grants. */
  readonly isUpgrade: boolean
  /** Called after a consent was given or revoked, and when consents were read that nobody waited for any more. */
  readonly changed: () => void
  /** How many milliseconds a read waits. The default is `READ_MS_MAX`. */
  readonly waitMs?: number
}

/**
 * The consents to the grants of modules in watched folders. They are kept in documents, because nobody writes the file layer
 * through the service.
 */
export class FileConsents {
  readonly #parts: Parts
  #decided: ReadonlyMap<string, Decided> | undefined
  #reading: Promise<void> | undefined
  /**
   * True until all modules that were there before an upgrade have been seen. Until then, the network of a module counts as
   * accepted, because its tools could use it before.
   */
  #isUpgrading = false
  readonly #seen = new Map<string, Decided>()
  #state: object = {}

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Another object after each change. */
  get state(): object {
    return this.#state
  }

  /**
   * Reads the consents if they may have changed. Never rejects, and waits only for a short time, because the file layer must be
   * there when the store is not. Until the consents could be read, all modules that ask for grants wait.
   */
  async read(): Promise<void> {
    const { isShared, waitMs = READ_MS_MAX, changed } = this.#parts
    if (this.#decided && !isShared) return
    this.#reading ??= this.#read()
      .catch(() => undefined)
      .finally(() => (this.#reading = undefined))
    const before = this.#state
    const reading = this.#reading
    await withinMs(waitMs, reading, () => {
      void reading.then(() => this.#state !== before && changed())
    })
  }

  /** Whether the tools of a module wait for consent, and the consent if they do not. */
  decide(module: FileModule): { readonly isPending: boolean; readonly consent: Consent | null } {
    const { grants } = module
    if (grants.length === 0) return { isPending: false, consent: null }
    if (!this.#decided) return { isPending: true, consent: null }
    const digest = grantsDigest(grants)
    const known = this.#decided.get(keyOf(module)) ?? this.#seenBefore(module, digest)
    const { policy, now } = this.#parts
    const present = known && { grants: known.grants, grantsDigest: known.digest, consent: consentIn(known) }
    const asked = { grants, grantsDigest: digest, by: '', at: new Date(now()) }
    return decideConsent(asked, present, policy)
  }

  /** Accepts the grants of a module. */
  async accept(module: FileModule, by: string): Promise<void> {
    await this.#write(module, by, false)
  }

  /** Revokes the consent of a module. From then on, the operator's answers in advance do not count for it. */
  async revoke(module: FileModule, by: string): Promise<void> {
    await this.#write(module, by, true)
  }

  /**
   * Records the consents of modules that were there before an upgrade. When `isComplete` is true, all of them were seen, and
   * modules that come later need consent. Does nothing if there was no upgrade.
   */
  async settle(isComplete: boolean): Promise<void> {
    if (!this.#isUpgrading || (!isComplete && this.#seen.size === 0)) return
    const { documents, now } = this.#parts
    const seen = [...this.#seen]
    const refs = seen.map(([key]) => ({ of: CONSENTS, key }))
    await documents.change(EVERYBODY, [BEGUN_REF, ...refs], () => ({
      result: undefined,
      writes: [
        ...seen.map(([key, decided]) => put({ of: CONSENTS, key }, decided)),
        ...(isComplete ? [put(BEGUN_REF, { at: new Date(now()).toISOString() })] : []),
      ],
    }))
    this.#decided = new Map([...(this.#decided ?? []), ...seen])
    for (const [key] of seen) this.#seen.delete(key)
    if (isComplete) this.#isUpgrading = false
  }

  async #read(): Promise<void> {
    const { documents, now, isUpgrade } = this.#parts
    const before = this.#state
    const [begun] = await documents.read(EVERYBODY, [BEGUN_REF])
    if (!begun && !isUpgrade)
      await documents.claim(EVERYBODY, BEGUN_REF, { at: new Date(now()).toISOString() })
    const found = await documents.list(EVERYBODY, CONSENTS, { limit: CONSENTS_MAX })
    // A write that came in between may be missing in what was read.
    if (this.#state !== before) return this.#read()
    const decided = new Map(found.map(({ key, fields }) => [key, fields]))
    this.#isUpgrading = !begun && isUpgrade
    if (this.#decided && textOf(decided) === textOf(this.#decided)) return
    this.#decided = decided
    this.#state = {}
  }

  /** The consent of a module that was there before an upgrade. It covers the network only. */
  #seenBefore(module: FileModule, digest: Digest): Decided | undefined {
    const key = keyOf(module)
    const hosts = module.grants.every(({ kind }) => kind === 'network')
    if (!this.#isUpgrading || !hosts) return undefined
    const at = new Date(this.#parts.now()).toISOString()
    const decided = { ...named(module), digest, isRevoked: false, by: BY_UPGRADE, at }
    const known = this.#seen.get(key)
    if (known?.digest === digest) return known
    this.#seen.set(key, decided)
    return decided
  }

  async #write(module: FileModule, by: string, isRevoked: boolean): Promise<void> {
    const { documents, now, changed } = this.#parts
    const digest = grantsDigest(module.grants)
    const decided: Decided = { ...named(module), digest, isRevoked, by, at: new Date(now()).toISOString() }
    const ref: Ref<Decided> = { of: CONSENTS, key: keyOf(module) }
    try {
      await documents.change(EVERYBODY, [ref], () => ({ result: undefined, writes: [put(ref, decided)] }))
      this.#seen.delete(ref.key)
      // If nothing could be read yet, the next read of the layer reads this consent together with all others.
      if (this.#decided) this.#decided = new Map(this.#decided).set(ref.key, decided)
    } catch (error) {
      // The store may have written although its answer was lost.
      this.#decided = undefined
      throw error
    } finally {
      this.#state = {}
      changed()
    }
  }
}

function named({ module, grants }: FileModule): Pick<Decided, 'module' | 'grants'> {
  return { module, grants }
}

function consentIn({ digest, by, at, isRevoked }: Decided): Consent {
  return { digest, by, at, ...(isRevoked && { isRevoked }) }
}

/** Two folders can have modules of the same name. A path may be too long for a key. */
function keyOf({ folder, module }: FileModule): string {
  return `${module}-${hash('sha256', folder).slice(0, 16)}`
}

function textOf(decided: ReadonlyMap<string, Decided>): string {
  return JSON.stringify([...decided].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
