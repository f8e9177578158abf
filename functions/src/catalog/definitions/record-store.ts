import type { Digest } from '@toolrack/contract'
import type { LayerSource, StoredLayer } from '../views/layer-source.ts'
import type { DefinitionStore, DefinitionVersion } from './definition-store.ts'
import type { ModuleContent } from './module-content.ts'
import type { PackageLock } from './package-lock.ts'
import type { ModulePage, ModuleSummary, ModuleVersion, StoredModule } from './module-store.ts'
import { consentWrite } from './consent-write.ts'
import { definitionsWrite, moduleWrite, type LayerWrite } from './layer-write.ts'

/** Reads the records of one layer from a database. */
export interface LayerRecords {
  versions(name: string): Answer<readonly DefinitionVersion[]>
  module(name: string): Answer<StoredModule | undefined>
  modules(page: ModulePage): Answer<readonly ModuleSummary[]>
  moduleVersions(name: string): Answer<readonly ModuleVersion[]>
  source(sha256: string): Answer<ModuleContent | undefined>
  lock(sha256: string, environment: Digest): Answer<PackageLock | undefined>
}

type Answer<T> = T | Promise<T>

/**
 * The part of a definition store that is the same for every database. A subclass reads the layers, and runs each write in a
 * transaction.
 */
export abstract class RecordStore implements DefinitionStore {
  abstract layer(layer: StoredLayer): LayerSource
  abstract close(): Promise<void>
  protected abstract readRecords<T>(
    layer: StoredLayer,
    read: (records: LayerRecords) => Answer<T>,
  ): Promise<T>
  protected abstract runWrite<Result>(layer: StoredLayer, write: LayerWrite<Result>): Promise<Result>

  readonly write: DefinitionStore['write'] = (layer, changes, context) =>
    this.runWrite(layer, definitionsWrite(changes, context))

  readonly writeModule: DefinitionStore['writeModule'] = (layer, change, context) =>
    this.runWrite(layer, moduleWrite(change, context))

  readonly writeConsent: DefinitionStore['writeConsent'] = (layer, change, context) =>
    this.runWrite(layer, consentWrite(change, context))

  readonly versions: DefinitionStore['versions'] = (layer, name) =>
    this.readRecords(layer, (records) => records.versions(name))

  readonly module: DefinitionStore['module'] = (layer, name) =>
    this.readRecords(layer, (records) => records.module(name))

  readonly modules: DefinitionStore['modules'] = (layer, page) =>
    this.readRecords(layer, (records) => records.modules(page))

  readonly moduleVersions: DefinitionStore['moduleVersions'] = (layer, name) =>
    this.readRecords(layer, (records) => records.moduleVersions(name))

  readonly source: DefinitionStore['source'] = (layer, sha256) =>
    this.readRecords(layer, (records) => records.source(sha256))

  readonly lock: DefinitionStore['lock'] = (layer, sha256, environment) =>
    this.readRecords(layer, (records) => records.lock(sha256, environment))
}
