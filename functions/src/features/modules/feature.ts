import type { GrantPolicy } from '../../catalog/definitions/decide-consent.ts'
import type { DefinitionStore } from '../../catalog/definitions/definition-store.ts'
import { storedLayer } from '../../catalog/definitions/definition-writer.ts'
import { ModuleReader } from '../../catalog/definitions/module-reader.ts'
import { ModuleWriter, type WaitingModule } from '../../catalog/definitions/module-writer.ts'
import type { Runner } from '../../catalog/definitions/runner.ts'
import type { Catalog } from '../../catalog/views/catalog.ts'
import { grantsText } from '../../catalog/views/why-pending.ts'
import type { SchemaCompilers } from '../../catalog/schemas/schema-compilers.ts'
import type { SourceOf } from '../../calls/pipeline/run-tool.ts'
import type { Log } from '../../log.ts'
import type { FolderLayers } from '../folder/folder-layers.ts'
import type { FolderNews } from '../folder/folder-news.ts'
import { moduleRoutes } from './module-routes.ts'

type Needs = {
  readonly store: DefinitionStore
  readonly catalog: Catalog
  readonly compilers: SchemaCompilers
  readonly runner: Runner
  /** How the operator answers the grants of modules in advance. */
  readonly grantPolicy: GrantPolicy
  /** Shows the operator what has happened to a module. By default, the log says it. */
  readonly showModule?: ((news: FolderNews) => void) | undefined
  readonly log: Log
  readonly folder: FolderLayers | undefined
  /** Finds the source of a module. The default looks in the store and in the watched folders. */
  readonly sourceOf?: SourceOf | undefined
}

/** Uploaded modules, and the sources of all modules. */
export const modules = {
  name: 'modules',
  create(parts: Needs) {
    const { store, catalog, compilers, runner, folder, grantPolicy, showModule, log } = parts
    const { sourceOf = sourceIn(store, folder) } = parts
    const reader = new ModuleReader(store)
    const waits = (waiting: WaitingModule): void => {
      if (showModule) showModule({ kind: 'waits', file: waiting.module, ...waiting })
      else log.info('module waits for consent', { ...waiting, grants: grantsText(waiting.grants) })
    }
    const writer = new ModuleWriter({ store, reader, catalog, compilers, runner, grantPolicy, waits })
    return { modules: { reader, writer }, sourceOf }
  },
  routes: moduleRoutes,
}

/**
 * Finds the source of a module, and the lock of its packages. The file layer is not in a store, so the sources of its modules
 * come from the folder.
 */
function sourceIn(store: DefinitionStore, folder: FolderLayers | undefined): SourceOf {
  return async ({ layer, uid }, sha256, environment) => {
    if (layer === 'file') return folder?.source(sha256, environment)
    const target = storedLayer(layer, uid)
    const [content, lock] = await Promise.all([
      store.source(target, sha256),
      environment && store.lock(target, sha256, environment),
    ])
    return content && { ...content, lock }
  }
}
