import { grantsDigest, ToolrackError, type Digest, type Grant, type Layer } from '@toolrack/contract'
import type { Principal } from '../../access/principal.ts'
import { isAcceptedBy, refuseOtherDigest, type Consent } from '../../catalog/definitions/decide-consent.ts'
import type { DefinitionStore } from '../../catalog/definitions/definition-store.ts'
import { storedLayer, writeLayer, type WritableLayer } from '../../catalog/definitions/definition-writer.ts'
import { isModuleName } from '../../catalog/definitions/module-reader.ts'
import type { Catalog } from '../../catalog/views/catalog.ts'
import { moduleGrants } from '../../catalog/views/module-grants.ts'
import type { AskingModule } from '../folder/folder-layer.ts'
import type { FolderLayers } from '../folder/folder-layers.ts'
import type { FileConsents } from './file-consents.ts'

/** A module of one layer, as a request names it. */
export type NamedModule = { readonly layer: Layer; readonly name: string }

/**
 * The grants of a module. `none`: it asks for none. `pending`: its tools wait for consent. `accepted`: its tools may use them.
 * If nobody had to accept them, because an earlier version of the service wrote the module, the last two fields are null.
 */
export type GrantsAnswer = {
  readonly module: string
  readonly layer: Layer
  readonly grants: readonly Grant[]
  readonly grantsDigest: Digest
  readonly state: 'none' | 'pending' | 'accepted'
  readonly acceptedBy: string | null
  readonly acceptedAt: string | null
}

type Parts = {
  readonly store: DefinitionStore
  readonly catalog: Catalog
  readonly folder: FolderLayers | undefined
  readonly fileConsents: FileConsents | undefined
}

/** Reads, accepts and revokes the grants of modules in all layers. The caller must have checked the access. */
export class ModuleConsents {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Rejects with MODULE_NOT_FOUND. */
  async read(principal: Principal, { layer, name }: NamedModule): Promise<GrantsAnswer> {
    if (layer === 'file') return this.#fileAnswer(await this.#inFolder(name))
    const target = storedLayer(layer, principal.uid)
    const module = isModuleName(name) ? await this.#parts.store.module(target, name) : undefined
    if (!module) throw new ToolrackError('MODULE_NOT_FOUND')
    const { grants, grantsDigest: digest, consent = null } = module
    if (grants && digest) return answerOf(name, layer, grants, consent)
    // The record is of an earlier version, which kept no grants. At most 50 tools are read, so no other request has to wait.
    const view = await this.#parts.catalog.view({ uid: principal.uid })
    const byName = view.layers[layer].snapshot?.byName
    const found = moduleGrants(
      name,
      layer,
      module.tools.flatMap((tool) => byName?.get(tool) ?? []),
    )
    const state = found.grants.length > 0 && { state: stateOf(found) }
    return { ...answerOf(name, layer, found.grants, null), ...state }
  }

  /** Rejects with MODULE_NOT_FOUND, or with DIGEST_CHANGED if the grants have another digest. */
  async accept(principal: Principal, { layer, name }: NamedModule, digest: Digest): Promise<GrantsAnswer> {
    if (layer !== 'file') return this.#write(principal, layer, name, digest)
    const module = await this.#inFolder(name, digest)
    refuseOtherDigest(digest, module.grantsDigest)
    if (module.isPending) await this.#parts.fileConsents?.accept(module, principal.uid)
    return this.#afterFileChange(name, module)
  }

  /** Rejects with MODULE_NOT_FOUND. */
  async revoke(principal: Principal, { layer, name }: NamedModule): Promise<GrantsAnswer> {
    if (layer !== 'file') return this.#write(principal, layer, name, undefined)
    const module = await this.#inFolder(name)
    if (!module.isPending && module.grants.length > 0)
      await this.#parts.fileConsents?.revoke(module, principal.uid)
    return this.#afterFileChange(name, module)
  }

  async #write(
    principal: Principal,
    layer: WritableLayer,
    name: string,
    accepts: Digest | undefined,
  ): Promise<GrantsAnswer> {
    if (!isModuleName(name)) throw new ToolrackError('MODULE_NOT_FOUND')
    const { store, catalog } = this.#parts
    const { grants, consent } = await writeLayer(catalog, principal, layer, (target, context) =>
      store.writeConsent(target, { name, accepts }, context),
    )
    return answerOf(name, layer, grants, consent)
  }

  /**
   * The module of the watched folders with this name. If several folders have one, the one with the digest, or else the first
   * that waits.
   */
  async #inFolder(name: string, digest?: Digest): Promise<AskingModule> {
    const { folder } = this.#parts
    const found = ((await folder?.asking()) ?? []).filter(({ module }) => module === name)
    const [first = await this.#withoutGrants(name)] = found
    return (
      found.find(({ grantsDigest }) => grantsDigest === digest) ??
      found.find(({ isPending }) => isPending) ??
      first
    )
  }

  async #withoutGrants(name: string): Promise<AskingModule> {
    const { tools } = (await this.#parts.folder?.modules()) ?? { tools: [] }
    const tool = tools.find(({ module }) => module.name === name)
    if (!tool) throw new ToolrackError('MODULE_NOT_FOUND', 'No watched folder has a module of that name.')
    const asked = { grants: [], grantsDigest: grantsDigest([]), isPending: false }
    return { folder: '', mainFile: tool.mainFile, module: name, ...asked }
  }

  /** The file layer is read at once, so that the next list of this instance shows the change. */
  async #afterFileChange(name: string, module: AskingModule): Promise<GrantsAnswer> {
    await this.#parts.catalog.shared()
    return this.#fileAnswer(await this.#inFolder(name, module.grantsDigest))
  }

  #fileAnswer(module: AskingModule): GrantsAnswer {
    const { consent = null } = this.#parts.fileConsents?.decide(module) ?? {}
    return answerOf(module.module, 'file', module.grants, consent)
  }
}

function answerOf(
  module: string,
  layer: Layer,
  grants: readonly Grant[],
  consent: Consent | null,
): GrantsAnswer {
  const digest = grantsDigest(grants)
  const accepted = grants.length > 0 && isAcceptedBy(consent, digest) ? consent : null
  const state = grants.length === 0 ? 'none' : accepted ? 'accepted' : 'pending'
  const by = { acceptedBy: accepted?.by ?? null, acceptedAt: accepted?.at ?? null }
  return { module, layer, grants, grantsDigest: digest, state, ...by }
}

export function stateOf({ isPending }: { readonly isPending: boolean }): 'pending' | 'accepted' {
  return isPending ? 'pending' : 'accepted'
}
