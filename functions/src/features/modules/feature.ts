import type { DefinitionStore } from '../../catalog/definitions/definition-store.ts'
import { storedLayer } from '../../catalog/definitions/definition-writer.ts'
import { ModuleReader } from '../../catalog/definitions/module-reader.ts'
import { ModuleWriter } from '../../catalog/definitions/module-writer.ts'
import type { Runner } from '../../catalog/definitions/runner.ts'
import type { Catalog } from '../../catalog/views/catalog.ts'
import type { SchemaCompilers } from '../../catalog/schemas/schema-compilers.ts'
import type { SourceOf } from '../../calls/pipeline/run-tool.ts'
import type { FolderLayers } from '../folder/folder-layers.ts'
import { moduleRoutes } from './module-routes.ts'

type Needs = {
  readonly store: DefinitionStore
  readonly catalog: Catalog
  readonly compilers: SchemaCompilers
  readonly runner: Runner
  readonly folder: FolderLayers | undefined
  /** Finds the source of a module. The default looks in the store and in the watched folders. */
  readonly sourceOf?: SourceOf | undefined
}

/** Uploaded modules, and the sources of all modules. */
export const modules = {
  name: 'modules',
  create({ store, catalog, compilers, runner, folder, sourceOf = sourceIn(store, folder) }: Needs) {
    const reader = new ModuleReader(store)
    const writer = new ModuleWriter({ store, reader, catalog, compilers, runner })
    return { modules: { reader, writer }, sourceOf }
  },
  routes: moduleRoutes,
}

/** Finds the source of a module, and the lock of its packages. The file layer is not in a store, so the sources of its modules come from the folder. */
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
