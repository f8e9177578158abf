import { ToolrackError, type Digest } from '@toolrack/contract'
import { bytesOfSealed, type SealedPlace } from '../../calls/sealing.ts'
import { EVERYBODY, put, remove, type Collection, type Ref } from '../../documents/collection.ts'
import type { ModuleStore } from '../../catalog/definitions/module-store.ts'
import type { Documents, Kept } from '../../documents/documents.ts'
import { isText, listOf, object } from '../../value-shape.ts'
import { SECRETS_MAX } from './secret.ts'
import type { SecretKey, SecretKeys } from './secret-keys.ts'

/** The fields of a stored secret. The body of its document is the sealed value. `key` is the id of the key that has sealed it. */
type SecretFields = { readonly name: string; readonly updatedAt: string; readonly key: string }

export const SECRETS: Collection<SecretFields> = {
  name: 'secrets',
  owner: 'both',
  fields: object<SecretFields>({ name: isText, updatedAt: isText, key: isText }),
  hasBody: true,
  quota: {
    count: SECRETS_MAX,
    refuse: () =>
      new ToolrackError(
        'ITEMS_FULL',
        `There are ${SECRETS_MAX} secrets, as many as there may be; delete some.`,
        {
          details: [{ reason: 'ITEMS_FULL', kind: 'secret' }],
        },
      ),
  },
}

/**
 * The users who have or had secrets. A rotation finds the secrets of all users by this collection. Nothing is ever deleted from
 * it: a rotation could miss a secret that is written at the same time.
 */
const OWNERS: Collection<{ readonly uid: string }> = {
  name: 'secret-owners',
  owner: 'everybody',
  fields: object<{ readonly uid: string }>({ uid: isText }),
}

/** For each key that has sealed a secret, a known text that it has sealed. A start finds by it that a key is missing. */
type CheckFields = { readonly id: string; readonly sealed: string }
const CHECKS: Collection<CheckFields> = {
  name: 'secret-keys',
  owner: 'everybody',
  fields: object<CheckFields>({ id: isText, sealed: isText }),
}
const CHECKED_TEXT = 'toolrack'

/** The most grants of one module to which a user consents: as many as it may have tools with different grants. */
const DIGESTS_MAX = 64
/** The most modules to which a user has consented. */
const CONSENTS_MAX = 1_000

/** The user's consents that a module of another layer gets secrets of this user. Each is what `#consentText` returns. */
type ConsentFields = { readonly layer: string; readonly module: string; readonly digests: readonly string[] }
const CONSENTS: Collection<ConsentFields> = {
  name: 'secret-consents',
  owner: 'user',
  fields: object<ConsentFields>({ layer: isText, module: isText, digests: listOf(isText) }),
  quota: {
    count: CONSENTS_MAX,
    refuse: () =>
      new ToolrackError('ITEMS_FULL', `You have consented to ${CONSENTS_MAX} modules, as many as you may.`, {
        details: [{ reason: 'ITEMS_FULL', kind: 'consent' }],
      }),
  },
}

/** The layers whose modules need the caller's consent. Those of the user's own layer are the user's. */
export const CONSENT_LAYERS = ['global', 'file'] as const
export type ConsentModule = { readonly layer: (typeof CONSENT_LAYERS)[number]; readonly module: string }

export type ListedSecret = { readonly name: string; readonly updatedAt: string }

/** The value of a secret, or why there is none: nothing is stored, or no present key opens it. */
export type FoundSecret = { readonly value: string } | { readonly none: 'missing' | 'unreadable' }

/** A secret that is not opened yet, with the bytes of its value. */
export type SealedSecret = { readonly bytes: number; readonly open: () => FoundSecret }

/** In place of a secret that is not stored. */
export const MISSING: SealedSecret = { bytes: 0, open: () => ({ none: 'missing' }) }

type Parts = {
  readonly documents: Documents
  readonly keys: SecretKeys
  readonly now: () => number
  /** Has the modules of the global layer. It is needed for consents only. */
  readonly modules?: Pick<ModuleStore, 'module'>
}

/** How many owners a rotation reads at once. */
const OWNERS_AT_ONCE = 500
/** The most users that a process remembers as owners of secrets. */
const OWNERS_KNOWN_MAX = 10_000
/** A check for each key that a rotation has not forgotten yet. There are more only after many killed rotations. */
const CHECKS_MAX = 100

/** Keeps secrets, sealed. An owner is a user, or EVERYBODY for global secrets. The caller has been authorized. */
export class SecretStore {
  readonly #documents: Documents
  readonly #keys: SecretKeys
  readonly #now: () => number
  readonly #modules: Parts['modules']
  readonly #writing = new Set<Promise<void>>()
  readonly #knownOwners = new Set<string>()
  readonly #checkedKeys = new Set<string>()

  constructor({ documents, keys, now, modules }: Parts) {
    this.#documents = documents
    this.#keys = keys
    this.#now = now
    this.#modules = modules
  }

  async put(owner: string, name: string, value: string): Promise<void> {
    const write = this.#put(owner, name, value)
    this.#writing.add(write)
    try {
      await write
    } finally {
      this.#writing.delete(write)
    }
  }

  async #put(owner: string, name: string, value: string): Promise<void> {
    // The owner and the check come first. Without them, a rotation or a start would not know of the secret.
    await this.#noteOwner(owner)
    await this.noteKey(this.#keys.first)
    const updatedAt = new Date(this.#now()).toISOString()
    const ref = refOf(name)
    await this.#documents.change(owner, [ref], () => {
      const { id, sealing } = this.#keys.first
      const fields = { name, updatedAt, key: id }
      return { result: undefined, writes: [put(ref, fields, sealing.seal(value, placeOf(owner, name)))] }
    })
  }

  /** False if there is no such secret. */
  delete(owner: string, name: string): Promise<boolean> {
    const ref = refOf(name)
    return this.#documents.change(owner, [ref], ([found]) =>
      found ? { result: true, writes: [remove(ref)] } : { result: false },
    )
  }

  async find(owner: string, name: string): Promise<ListedSecret | undefined> {
    const [found] = await this.#documents.read(owner, [refOf(name)])
    return found && listed(found)
  }

  /** Secrets in the order of their names. */
  async page(owner: string, limit: number, after?: string): Promise<readonly ListedSecret[]> {
    const found = await this.#documents.list(owner, SECRETS, { limit, after: after && refOf(after).key })
    return found.map(listed)
  }

  /**
   * The secrets with these names. `hasConsent` is true if the owner has consented that the module gets them for grants with this
   * digest.
   */
  async sealed(
    owner: string,
    names: readonly string[],
    consent?: ConsentModule & { readonly digest: Digest },
  ): Promise<{ readonly secrets: readonly SealedSecret[]; readonly hasConsent: boolean }> {
    if (!consent) {
      const found = await this.#documents.read(owner, names.map(refOf))
      return { secrets: found.map((kept) => this.#sealed(owner, kept)), hasConsent: false }
    }
    const [text, [given, ...found]] = await Promise.all([
      this.#consentText(consent, consent.digest),
      this.#documents.read(owner, [consentRef(consent), ...names.map(refOf)]),
    ])
    return {
      secrets: found.map((kept) => this.#sealed(owner, kept)),
      hasConsent: given?.fields.digests.includes(text) === true,
    }
  }

  #sealed(owner: string, kept: Kept<SecretFields> | undefined): SealedSecret {
    if (!kept) return MISSING
    const open = (): FoundSecret => {
      const value = this.#valueIn(owner, kept)
      return value === undefined ? { none: 'unreadable' } : { value }
    }
    return { bytes: bytesOfSealed(kept.body ?? ''), open }
  }

  #valueIn(owner: string, { fields, body = '' }: Kept<SecretFields>): string | undefined {
    return this.#keys.find(fields.key)?.sealing.open(body, placeOf(owner, fields.name))
  }

  async consent(uid: string, to: ConsentModule, digest: Digest): Promise<void> {
    const ref = consentRef(to)
    const text = await this.#consentText(to, digest)
    await this.#documents.change(uid, [ref], ([found]) => {
      const before = found?.fields.digests ?? []
      if (before.includes(text)) return { result: undefined }
      const { layer, module } = to
      const fields = { layer, module, digests: [text, ...before].slice(0, DIGESTS_MAX) }
      return { result: undefined, writes: [put(ref, fields)] }
    })
  }

  /**
   * A consent is to the grants with this digest, of the module that has the name now. Watched folders have no creation, because
   * editors delete and write files.
   */
  async #consentText({ layer, module }: ConsentModule, digest: Digest): Promise<string> {
    const found = layer === 'global' ? await this.#modules?.module({ kind: 'global' }, module) : undefined
    return found?.created === undefined ? digest : `${digest} ${found.created}`
  }

  /** False if the user has not consented. */
  async revoke(uid: string, to: ConsentModule): Promise<boolean> {
    const ref = consentRef(to)
    return this.#documents.change(uid, [ref], ([found]) =>
      found ? { result: true, writes: [remove(ref)] } : { result: false },
    )
  }

  /** Notes that a key seals secrets, so that a start without this key fails. */
  async noteKey({ id, sealing }: SecretKey): Promise<void> {
    if (this.#checkedKeys.has(id)) return
    const sealed = sealing.seal(CHECKED_TEXT, CHECK_PLACE)
    await this.#documents.claim(EVERYBODY, { of: CHECKS, key: id }, { id, sealed })
    this.#checkedKeys.add(id)
  }

  async #noteOwner(owner: string): Promise<void> {
    if (owner === EVERYBODY || this.#knownOwners.has(owner)) return
    await this.#documents.claim(EVERYBODY, { of: OWNERS, key: `of-${owner}` }, { uid: owner })
    if (this.#knownOwners.size >= OWNERS_KNOWN_MAX) this.#knownOwners.clear()
    this.#knownOwners.add(owner)
  }

  /** The ids of keys that have sealed secrets, and that are missing or changed. */
  async missingKeys(): Promise<readonly string[]> {
    const checks = await this.#documents.list(EVERYBODY, CHECKS, { limit: CHECKS_MAX })
    return checks.flatMap(({ fields: { id, sealed } }) =>
      this.#keys.find(id)?.sealing.open(sealed, CHECK_PLACE) === CHECKED_TEXT ? [] : [id],
    )
  }

  /** Forgets which other keys have sealed secrets. Call it when none of them has sealed a secret any more. */
  async forgetOtherKeys({ id: present }: SecretKey): Promise<void> {
    const checks = await this.#documents.list(EVERYBODY, CHECKS, { limit: CHECKS_MAX })
    for (const { fields } of checks) if (fields.id !== present) await this.#forgetKey(fields.id)
  }

  async #forgetKey(id: string): Promise<void> {
    const ref: Ref<CheckFields> = { of: CHECKS, key: id }
    this.#checkedKeys.delete(id)
    await this.#documents.change(EVERYBODY, [ref], () => ({ result: undefined, writes: [remove(ref)] }))
  }

  /** Deletes the secrets that no present key opens, and forgets the missing keys. Returns how many secrets were deleted. */
  async forgetUnreadable(): Promise<number> {
    let deleted = 0
    for await (const owner of this.owners())
      for (const { name } of await this.page(owner, SECRETS_MAX)) {
        const ref = refOf(name)
        const [kept] = await this.#documents.read(owner, [ref])
        if (!kept || this.#valueIn(owner, kept) !== undefined) continue
        await this.delete(owner, name)
        deleted += 1
      }
    for (const id of await this.missingKeys()) await this.#forgetKey(id)
    return deleted
  }

  /** Resolves when all writes have ended that have begun before. They may have used an earlier key. */
  async writesEnded(): Promise<void> {
    await Promise.allSettled(this.#writing)
  }

  /** All owners who may have secrets. */
  async *owners(): AsyncGenerator<string> {
    yield EVERYBODY
    for (let after: string | undefined; ;) {
      const page = await this.#documents.list(EVERYBODY, OWNERS, { limit: OWNERS_AT_ONCE, after })
      for (const { fields } of page) yield fields.uid
      if (page.length < OWNERS_AT_ONCE) return
      after = page.at(-1)?.key
    }
  }

  /** Seals a secret with the first key, if another key has sealed it. */
  reseal(owner: string, name: string): Promise<'resealed' | 'present' | 'unreadable'> {
    const ref = refOf(name)
    return this.#documents.change(owner, [ref], ([kept]) => {
      const { id, sealing } = this.#keys.first
      if (!kept || kept.fields.key === id) return { result: 'present' as const }
      const value = this.#valueIn(owner, kept)
      if (value === undefined) return { result: 'unreadable' as const }
      const sealed = sealing.seal(value, placeOf(owner, name))
      return { result: 'resealed' as const, writes: [put(ref, { ...kept.fields, key: id }, sealed)] }
    })
  }
}

function listed({ fields: { name, updatedAt } }: Kept<SecretFields>): ListedSecret {
  return { name, updatedAt }
}

function refOf(name: string): Ref<SecretFields> {
  // A name such as `__A__` alone would not be safe as a key.
  return { of: SECRETS, key: `s-${name}` }
}

function consentRef({ layer, module }: ConsentModule): Ref<ConsentFields> {
  return { of: CONSENTS, key: `${layer}-${module}` }
}

const CHECK_PLACE: SealedPlace = { kind: 'secret key', uid: '', id: '' }

/** Binds a sealed value to its record. A value cannot be moved to another owner or name. */
function placeOf(owner: string, name: string): SealedPlace {
  return { kind: 'secret', uid: owner, id: name }
}
