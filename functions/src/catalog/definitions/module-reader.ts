import { ToolrackError, type Digest } from '@toolrack/contract'
import type { Principal } from '../../access/principal.ts'
import { isChosen, storedLayer, type WritableLayer } from './definition-writer.ts'
import { sentContent } from './module-content.ts'
import type { StoredLayer } from '../views/layer-source.ts'
import type { ModulePage, ModuleStore } from './module-store.ts'

/** Matches a name of 1 to 64 letters, digits and `_`. The runner also refuses some of these names, such as Python's keywords. */
const NAME = /^(?!__)[A-Za-z_][A-Za-z0-9_]{0,63}$/

/** True if a module can have this name. Names for which it is false are never passed to a store. */
export function isModuleName(name: string): boolean {
  return NAME.test(name)
}

/** Which version of a module is wanted: the one with this content, or the one with this revision. */
export type ModuleVersionChoice = { readonly sha256: string } | { readonly revision: string }

/** Reads modules. The caller must have checked the access. */
export class ModuleReader {
  readonly #store: ModuleStore

  constructor(store: ModuleStore) {
    this.#store = store
  }

  async module(principal: Principal, layer: WritableLayer, name: string) {
    const target = storedLayer(layer, principal.uid)
    const module = isModuleName(name) ? await this.#store.module(target, name) : undefined
    const content = module && (await this.#store.source(target, module.sha256))
    if (!module || content === undefined) throw new ToolrackError('MODULE_NOT_FOUND')
    return { ...module, ...sentContent(content) }
  }

  modules(principal: Principal, layer: WritableLayer, page: ModulePage) {
    return this.#store.modules(storedLayer(layer, principal.uid), page)
  }

  async versions(principal: Principal, layer: WritableLayer, name: string) {
    const target = storedLayer(layer, principal.uid)
    const versions = isModuleName(name) ? await this.#store.moduleVersions(target, name) : []
    if (versions.length === 0) throw new ToolrackError('MODULE_NOT_FOUND')
    return versions
  }

  /**
   * The content of a version, and its lock if it has one. Rejects with VERSION_NOT_FOUND if the content is not kept any more, or
   * if the version is a deletion.
   */
  async contentOf(principal: Principal, layer: WritableLayer, name: string, choice: ModuleVersionChoice) {
    const versions = await this.versions(principal, layer, name)
    const { sha256, environment } = versions.find((candidate) => isChosen(candidate, choice)) ?? {}
    const target = storedLayer(layer, principal.uid)
    const content = sha256 === undefined ? undefined : await this.#store.source(target, sha256)
    if (sha256 === undefined || content === undefined) throw new ToolrackError('VERSION_NOT_FOUND')
    return { content, lock: await this.#lock(target, sha256, environment) }
  }

  /** The lock of the present version, if this version has the content `sha256`. */
  async lockOf(principal: Principal, layer: WritableLayer, name: string, sha256: string) {
    const target = storedLayer(layer, principal.uid)
    const module = isModuleName(name) ? await this.#store.module(target, name) : undefined
    return module?.sha256 === sha256 ? this.#lock(target, sha256, module.environment) : undefined
  }

  async #lock(target: StoredLayer, sha256: string, environment: Digest | undefined) {
    return environment && this.#store.lock(target, sha256, environment)
  }
}
