import { ToolrackError } from '@toolrack/contract'
import { decide } from '../access/decide.ts'
import type { Principal } from '../access/principal.ts'
import type { StoredLayer } from '../catalog/stored-layer.ts'
import { storedLayer } from '../definitions/definition-writer.ts'
import type { WritableLayer } from '../definitions/definition-writer.ts'
import { isModuleName } from './module-name.ts'
import type { ModulePage, ModuleStore, ModuleSummary, ModuleVersion, StoredModule } from './module-store.ts'

/** How a version is named: by its content, or by its revision. */
export type ModuleVersionChoice = { readonly sha256: string } | { readonly revision: string }

/** Every look at modules goes through here. Who may not look is told what they would be told if there were none. */
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
    const target = isModuleName(name) ? readable(principal, layer) : undefined
    const module = target && (await this.#store.module(target, name))
    const source = module && (await this.#store.source(target, module.sha256))
    if (!module || source === undefined) throw new ToolrackError('MODULE_NOT_FOUND')
    return { ...module, source }
  }

  async modules(
    principal: Principal,
    layer: WritableLayer,
    page: ModulePage,
  ): Promise<readonly ModuleSummary[]> {
    const target = readable(principal, layer)
    return target ? this.#store.modules(target, page) : []
  }

  async versions(
    principal: Principal,
    layer: WritableLayer,
    name: string,
  ): Promise<readonly ModuleVersion[]> {
    const target = isModuleName(name) ? readable(principal, layer) : undefined
    const versions = target ? await this.#store.moduleVersions(target, name) : []
    if (versions.length === 0) throw new ToolrackError('MODULE_NOT_FOUND')
    return versions
  }

  /** The source of a version that is kept. Rejects with VERSION_NOT_FOUND, also for a deletion. */
  async sourceOf(
    principal: Principal,
    layer: WritableLayer,
    name: string,
    choice: ModuleVersionChoice,
  ): Promise<string> {
    const versions = await this.versions(principal, layer, name)
    const version = versions.find((candidate) => isChosen(candidate, choice))
    const target = readable(principal, layer)
    const source =
      target && version?.sha256 !== undefined ? await this.#store.source(target, version.sha256) : undefined
    if (source === undefined) throw new ToolrackError('VERSION_NOT_FOUND')
    return source
  }
}

function readable(principal: Principal, layer: WritableLayer): StoredLayer | undefined {
  const { allowed } = decide(principal, { verb: 'read-modules', layer })
  return allowed ? storedLayer(layer, principal.uid) : undefined
}

function isChosen(version: ModuleVersion, choice: ModuleVersionChoice): boolean {
  return 'sha256' in choice ? version.sha256 === choice.sha256 : version.revision === choice.revision
}
