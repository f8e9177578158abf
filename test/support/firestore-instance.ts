import { Catalog } from '../../functions/src/catalog/views/catalog.ts'
import { REVISION_CHECK_MS } from '../../functions/src/catalog/views/layer-cache.ts'
import type { FirestoreConnection } from '../../functions/src/stores/firestore/firestore-connection.ts'
import { FirestoreDefinitionStore } from '../../functions/src/stores/firestore/firestore-definition-store.ts'
import { SchemaCompilers } from '../../functions/src/catalog/schemas/schema-compilers.ts'
import { tool } from './definition-changes.ts'
import { ScriptedLayerSource } from './scripted-layer-source.ts'
import { until } from './until.ts'

/** Store and catalog of one instance of the service, for the user ann, with a clock that the test sets. */
export class FirestoreInstance {
  readonly compilers = new SchemaCompilers()
  readonly store: FirestoreDefinitionStore
  readonly catalog: Catalog
  time = 0

  constructor(connection: FirestoreConnection) {
    const now = (): number => this.time
    this.store = new FirestoreDefinitionStore({ connection, compilers: this.compilers, now })
    const sources = {
      file: new ScriptedLayerSource(tool('inFile')),
      global: this.store.layer({ kind: 'global' }),
      user: (uid: string) => this.store.layer({ kind: 'user', uid }),
    }
    this.catalog = new Catalog(sources, { now, report: () => undefined })
  }

  /** The names in the list. Waits for all layers, because on a busy machine the catalog may first answer without one. */
  async names(uid = 'ann'): Promise<readonly string[]> {
    const view = await until(
      async () => this.catalog.view({ uid }),
      ({ isWhole }) => isWhole,
    )
    return [...view.entries()].map(({ name }) => name)
  }

  /** The names in the list after the next check of the layers' revisions. */
  async namesAtNextCheck(uid = 'ann'): Promise<readonly string[]> {
    this.time += REVISION_CHECK_MS
    return this.names(uid)
  }

  async close(): Promise<void> {
    await this.store.close()
    await this.compilers.close()
  }
}
