import type { LayerSource, StoredLayer } from '../catalog/layer-source.ts'
import type { DefinitionChange } from '../definitions/definition-change.ts'
import type { DefinitionStore, DefinitionVersion } from '../definitions/definition-store.ts'
import type { DefinitionWriteResult, WriteContext } from '../definitions/write-result.ts'
import type {
  ModuleChange,
  ModulePage,
  ModuleSummary,
  ModuleVersion,
  ModuleWriteResult,
  StoredModule,
} from '../modules/module-store.ts'
import { definitionsWrite, moduleWrite, type LayerWrite } from './layer-write.ts'

/** What a storage reads of one layer, at once or later. */
export interface LayerRecords {
  versions(name: string): Answer<readonly DefinitionVersion[]>
  module(name: string): Answer<StoredModule | undefined>
  modules(page: ModulePage): Answer<readonly ModuleSummary[]>
  moduleVersions(name: string): Answer<readonly ModuleVersion[]>
  source(sha256: string): Answer<string | undefined>
}

type Answer<T> = T | Promise<T>

/** A store over a storage, which reads layers and runs writes in a transaction. */
export abstract class RecordStore implements DefinitionStore {
  abstract layer(layer: StoredLayer): LayerSource
  abstract close(): Promise<void>
  protected abstract readRecords<T>(
    layer: StoredLayer,
    read: (records: LayerRecords) => Answer<T>,
  ): Promise<T>
  protected abstract runWrite<Result>(layer: StoredLayer, write: LayerWrite<Result>): Promise<Result>

  write(
    layer: StoredLayer,
    changes: readonly DefinitionChange[],
    context: WriteContext,
  ): Promise<readonly DefinitionWriteResult[]> {
    return this.runWrite(layer, definitionsWrite(changes, context))
  }

  writeModule(layer: StoredLayer, change: ModuleChange, context: WriteContext): Promise<ModuleWriteResult> {
    return this.runWrite(layer, moduleWrite(change, context))
  }

  versions(layer: StoredLayer, name: string): Promise<readonly DefinitionVersion[]> {
    return this.readRecords(layer, (records) => records.versions(name))
  }

  module(layer: StoredLayer, name: string): Promise<StoredModule | undefined> {
    return this.readRecords(layer, (records) => records.module(name))
  }

  modules(layer: StoredLayer, page: ModulePage): Promise<readonly ModuleSummary[]> {
    return this.readRecords(layer, (records) => records.modules(page))
  }

  moduleVersions(layer: StoredLayer, name: string): Promise<readonly ModuleVersion[]> {
    return this.readRecords(layer, (records) => records.moduleVersions(name))
  }

  source(layer: StoredLayer, sha256: string): Promise<string | undefined> {
    return this.readRecords(layer, (records) => records.source(sha256))
  }
}
