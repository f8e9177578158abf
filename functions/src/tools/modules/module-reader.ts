import { ToolrackError } from '@toolrack/contract'
import type { Principal } from '../../access/principal.ts'
import { isChosen, storedLayer, type WritableLayer } from '../definitions/definition-writer.ts'
import type { ModulePage, ModuleStore, ModuleSummary, ModuleVersion, StoredModule } from './module-store.ts'

/** 1 to 64 letters, digits and `_`. The runner refuses more names, such as Python's keywords. */
const NAME = /^(?!__)[A-Za-z_][A-Za-z0-9_]{0,63}$/

/** True if a module can have this name. The stores are never asked for any other name. */
export function isModuleName(name: string): boolean {
  return NAME.test(name)
}

/** A version is named by its content or by its revision. */
export type ModuleVersionChoice = { readonly sha256: string } | { readonly revision: string }

/** Reads modules. The caller has checked that the principal may read. */
export class ModuleReader {
  readonly #store: ModuleStore

  constructor(store: ModuleStore) {
    this.#store = store
  }

  async module(
    principal: Principal,
    layer: WritableLayer,
    name: string,
  ): Promise<StoredModule & { readonly source: string }> {
    const target = storedLayer(layer, principal.uid)
    const module = isModuleName(name) ? await this.#store.module(target, name) : undefined
    const source = module && (await this.#store.source(target, module.sha256))
    if (!module || source === undefined) throw new ToolrackError('MODULE_NOT_FOUND')
    return { ...module, source }
  }

  async modules(
    principal: Principal,
    layer: WritableLayer,
    page: ModulePage,
  ): Promise<readonly ModuleSummary[]> {
    return this.#store.modules(storedLayer(layer, principal.uid), page)
  }

  async versions(
    principal: Principal,
    layer: WritableLayer,
    name: string,
  ): Promise<readonly ModuleVersion[]> {
    const target = storedLayer(layer, principal.uid)
    const versions = isModuleName(name) ? await this.#store.moduleVersions(target, name) : []
    if (versions.length === 0) throw new ToolrackError('MODULE_NOT_FOUND')
    return versions
  }

  /** The source of a version that is still kept. Rejects with VERSION_NOT_FOUND, also for a deletion. */
  async sourceOf(
    principal: Principal,
    layer: WritableLayer,
    name: string,
    choice: ModuleVersionChoice,
  ): Promise<string> {
    const versions = await this.versions(principal, layer, name)
    const version = versions.find((candidate) => isChosen(candidate, choice))
    const source =
      version?.sha256 === undefined
        ? undefined
        : await this.#store.source(storedLayer(layer, principal.uid), version.sha256)
    if (source === undefined) throw new ToolrackError('VERSION_NOT_FOUND')
    return source
  }
}
