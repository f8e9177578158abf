import { expect, test } from '@jest/globals'
import type { Principal } from '../../../../functions/src/access/principal.ts'
import { Catalog } from '../../../../functions/src/catalog/views/catalog.ts'
import { ModuleReader } from '../../../../functions/src/catalog/definitions/module-reader.ts'
import { ModuleWriter } from '../../../../functions/src/catalog/definitions/module-writer.ts'
import { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'
import { MemoryDefinitionStore } from '../../../support/memory-definition-store.ts'
import { readingRunner } from '../../../support/reading-runner.ts'
import { ScriptedLayerSource } from '../../../support/scripted-layer-source.ts'

const ANN: Principal = { kind: 'user', uid: 'ann', isAdmin: false }

/** Keeps the names that it is asked for: in Firestore a name is a part of a path. */
class WatchedStore extends MemoryDefinitionStore {
  readonly asked: string[] = []

  override module(...[layer, name]: Parameters<MemoryDefinitionStore['module']>) {
    this.asked.push(name)
    return super.module(layer, name)
  }
  override moduleVersions(...[layer, name]: Parameters<MemoryDefinitionStore['moduleVersions']>) {
    this.asked.push(name)
    return super.moduleVersions(layer, name)
  }
  override writeModule(...[layer, change, context]: Parameters<MemoryDefinitionStore['writeModule']>) {
    this.asked.push(change.name)
    return super.writeModule(layer, change, context)
  }
}

test.each(['m/versions/1', '../defs', '', '.', '__m__', '__m', 'm-n', 'é', '1m', 'm'.repeat(65), 'm\0'])(
  'no store is ever asked for the name %j',
  async (name) => {
    const store = new WatchedStore()
    const empty = new ScriptedLayerSource()
    const catalog = new Catalog(
      { file: empty, global: empty, user: () => empty },
      { report: () => undefined },
    )
    const compilers = new SchemaCompilers()
    const reader = new ModuleReader(store)
    const writer = new ModuleWriter({ store, reader, catalog, compilers, runner: readingRunner() })
    const choice = { revision: 'm1' }
    const precondition = {}
    const upload = { layer: 'user', name, source: Buffer.from('"m:a"'), precondition } as const
    const notFound = [
      reader.module(ANN, 'user', name),
      reader.versions(ANN, 'user', name),
      writer.delete(ANN, 'user', name, precondition),
      writer.rollback(ANN, { layer: 'user', name, choice, precondition }),
    ]
    for (const asking of notFound) await expect(asking).rejects.toMatchObject({ code: 'MODULE_NOT_FOUND' })
    // This runner lets every name through; a real one says what is wrong with it.
    await expect(writer.put(ANN, upload)).rejects.toMatchObject({ code: 'MODULE_INVALID' })
    expect(store.asked).toEqual([])
    await compilers.close()
  },
)
