import type { LayerSource, LayerRead } from '../../catalog/views/layer-source.ts'
import { Catalog } from '../../catalog/views/catalog.ts'
import type { DefinitionStore } from '../../catalog/definitions/definition-store.ts'
import { DefinitionWriter } from '../../catalog/definitions/definition-writer.ts'
import type { SchemaCompilers } from '../../catalog/schemas/schema-compilers.ts'
import type { Log } from '../../log.ts'
import type { Signal } from '../../signal.ts'
import { definitionRoutes } from './definition-routes.ts'
import { logged, reportLayer } from './layer-log.ts'

type Needs = {
  readonly log: Log
  readonly compilers: SchemaCompilers
  readonly store: DefinitionStore
  /** Reads the file layer: definitions in files, and modules of watched folders. */
  readonly fileLayer: LayerSource
  readonly signals: {
    readonly filesChanged: Signal
    readonly filesNews: Signal
    readonly filesRead: Signal<LayerRead>
    readonly written: Signal
  }
}

/** The catalog with its three layers, and the writes of definitions. */
export const definitions = {
  name: 'definitions',
  create({ log, compilers, store, fileLayer, signals }: Needs) {
    const catalog = new Catalog(
      {
        file: told(fileLayer, signals.filesRead),
        global: logged(store.layer({ kind: 'global' }), log),
        user: (uid) => logged(store.layer({ kind: 'user', uid }), log),
      },
      { report: (layer, event) => reportLayer(log, layer, event), written: signals.written.tell },
    )
    signals.filesChanged.listen(() => catalog.markWritten({ kind: 'file' }))
    signals.filesNews.listen(() => void catalog.shared())
    return { catalog, writer: new DefinitionWriter({ store, catalog, compilers }) }
  },
  routes: definitionRoutes,
}

/** Returns a source that reads from `source`, and tells `read` each result. */
function told(source: LayerSource, read: Signal<LayerRead>): LayerSource {
  return {
    async open() {
      await source.open?.()
    },
    async read(since) {
      const found = await source.read(since)
      read.tell(found)
      return found
    },
  }
}
