import type { Digest, Grant, JsonObject } from '@toolrack/contract'
import type { StoredLayer } from '../views/layer-source.ts'
import type {
  DefinitionDelete,
  DefinitionPut,
  DefinitionWriteResult,
  WriteContext,
} from './definition-change.ts'
import type { ConsentChange, ConsentResult } from './consent-write.ts'
import type { Consent, decideConsent, PresentGrants } from './decide-consent.ts'
import type { Precondition } from '../../precondition.ts'
import type { ModuleContent } from './module-content.ts'
import type { PackageLock } from './package-lock.ts'

/** A module without its content and its definitions. */
export type StoredModule = ModuleSummary & { readonly report: JsonObject }

export type ModuleSummary = Partial<ModuleGrants> & {
  readonly name: string
  /** The digest of the content, in hexadecimal digits (`contentSha256`). */
  readonly sha256: string
  /** The digest of the module's lock. Missing if the module has no packages of its own. */
  readonly environment?: Digest
  /** The names of the module's definitions. */
  readonly tools: readonly string[]
  /** The layer's revision when this content was written. */
  readonly revision: string
  readonly updatedAt: string
  readonly updatedBy: string
}

/**
 * What a module asks for, and the consent of a person. All three are missing in a record of an earlier version, which counts as
 * consented.
 */
export type ModuleGrants = {
  /** The grants of all tools of the module, as `sortedGrants` sorts them. */
  readonly grants: readonly Grant[]
  readonly grantsDigest: Digest
  /** The last decision about the grants. Null if nobody has decided. */
  readonly consent: Consent | null
  /**
   * A random id of the module's creation. A module that is written after a deletion has another one, so consents of callers end
   * with the module. Missing in a module that an earlier version of the service has created.
   */
  readonly created?: string | undefined
}

/** A module at one revision, without its content. If there is no sha256, the module was deleted at this revision. */
export type ModuleVersion = {
  readonly revision: string
  readonly sha256?: string
  readonly environment?: Digest
  readonly tools: readonly string[]
  readonly at: string
  readonly by: string
}

export type ModulePut = ModuleContent &
  ModuleGrants & {
    readonly kind: 'put'
    readonly name: string
    readonly sha256: string
    /** The packages of the module. The lock is kept as long as a version of the module has it. */
    readonly lock?: PackageLock | undefined
    /**
     * True if the present lock has the same packages and is for another Python or platform. Its digest is the same then, and the
     * write replaces it.
     */
    readonly replacesLock?: boolean
    readonly report: JsonObject
    /** All definitions that the module has after the write. */
    readonly tools: readonly DefinitionPut[]
    /** True if the tools wait for consent. Then each stored definition has `pendingGrants`, with the value of `grantsDigest`. */
    readonly pending?: boolean
    /**
     * Decides about the grants when the transaction has read those of the present version. Its decision replaces `consent` and
     * `pending`. So a consent or its revocation that comes at the same time is not lost.
     */
    readonly decide?: (present: PresentGrants | undefined) => ReturnType<typeof decideConsent>
    readonly precondition?: Precondition
  }

export type ModuleChange = ModulePut | DefinitionDelete

export type ModuleWriteResult = {
  readonly name: string
  readonly outcome: 'created' | 'updated' | 'unchanged' | 'deleted'
  readonly sha256: string
  /** The digest of the old content, if the write has replaced it. */
  readonly replaced?: string | undefined
  /** The entity tag of the written module (`moduleTag`). Undefined after a deletion. */
  readonly tag?: string | undefined
  /** The revision of the module's content. */
  readonly revision: string
  readonly tools: readonly DefinitionWriteResult[]
  /** True if the tools of the written module wait for consent. */
  readonly pending?: boolean
}

/** Asks for one page of a list that is ordered by name: at most `limit` names after the name `after`. */
export type ModulePage = { readonly after?: string | undefined; readonly limit: number }

/** The part of a `DefinitionStore` that keeps modules. Every implementation passes `test/support/module-store.contract.ts`. */
export interface ModuleStore {
  /**
   * Writes in one transaction the module, its source, a version, and all changes of the module's definitions. If anything has
   * changed, raises the layer's revision once. Rejects with the errors of `planModuleWrite`.
   */
  writeModule(layer: StoredLayer, change: ModuleChange, context: WriteContext): Promise<ModuleWriteResult>

  /**
   * Writes in one transaction a consent to the grants of a module, or its revocation, and the definitions of the module without
   * or with `pendingGrants`. If anything has changed, raises the layer's revision once. Rejects with the errors of
   * `planConsent`.
   */
  writeConsent(layer: StoredLayer, change: ConsentChange, context: WriteContext): Promise<ConsentResult>

  module(layer: StoredLayer, name: string): Promise<StoredModule | undefined>

  /** The modules of a layer, ordered by the code units of their names. */
  modules(layer: StoredLayer, page: ModulePage): Promise<readonly ModuleSummary[]>

  /** The newest versions of a module, the newest first. Empty for a name that was never written. */
  moduleVersions(layer: StoredLayer, name: string): Promise<readonly ModuleVersion[]>

  /** The content with this sha256. Undefined if no kept version of a module has it. */
  source(layer: StoredLayer, sha256: string): Promise<ModuleContent | undefined>

  /** The lock with the digest `environment` of the content `sha256`. Undefined if no kept version of a module has both. */
  lock(layer: StoredLayer, sha256: string, environment: Digest): Promise<PackageLock | undefined>
}
