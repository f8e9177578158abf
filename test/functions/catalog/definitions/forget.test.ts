import { expect, test } from '@jest/globals'
import type { Principal } from '../../../../functions/src/access/principal.ts'
import { Catalog } from '../../../../functions/src/catalog/views/catalog.ts'
import { ModuleReader } from '../../../../functions/src/catalog/definitions/module-reader.ts'
import { ModuleWriter } from '../../../../functions/src/catalog/definitions/module-writer.ts'
import type { Runner } from '../../../../functions/src/catalog/definitions/runner.ts'
import { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'
import { MemoryDefinitionStore } from '../../../support/memory-definition-store.ts'
import { sha256Of } from '../../../support/module-changes.ts'
import { readingRunner } from '../../../support/reading-runner.ts'
import { ScriptedLayerSource } from '../../../support/scripted-layer-source.ts'

const ANN: Principal = { kind: 'user', uid: 'ann', isAdmin: true }
const [FIRST, SECOND] = ['"m:a"', '"m:a" "m:b"'] as const
const [first, second] = [sha256Of(FIRST), sha256Of(SECOND)]

/** A writer, and what its runner was told. */
function writing(forget: Runner['forget'] = () => Promise.resolve()) {
  const told: unknown[] = []
  const checkedFor: unknown[] = []
  const reading = readingRunner()
  const runner: Runner = {
    ...reading,
    check: (module) => {
      checkedFor.push(module.tenant)
      return reading.check(module)
    },
    forget: (module) => {
      told.push(module)
      return forget(module)
    },
  }
  const store = new MemoryDefinitionStore()
  const empty = new ScriptedLayerSource()
  const catalog = new Catalog({ file: empty, global: empty, user: () => empty }, { report: () => undefined })
  const compilers = new SchemaCompilers()
  const parts = { store, reader: new ModuleReader(store), catalog, compilers, runner }
  return { writer: new ModuleWriter(parts), told, checkedFor, close: () => compilers.close() }
}

test.each([
  ['user', { tenant: 'ann' }],
  ['global', { tenant: undefined }],
] as const)(
  'of the layer %s the runner is told what was replaced and what was deleted, for %j',
  async (layer, whose) => {
    const { writer, told, checkedFor, close } = writing()
    const put = (text: string) =>
      writer.put(ANN, { layer, name: 'm', source: Buffer.from(text), precondition: {} })
    await put(FIRST)
    await put(FIRST)
    expect(told).toEqual([])
    await put(SECOND)
    expect(told).toEqual([{ ...whose, module: 'm', sha256: first }])
    await writer.delete(ANN, layer, 'm', {})
    expect(told.slice(1)).toEqual([{ ...whose, module: 'm', sha256: second }])
    expect(checkedFor).toEqual(['ann', 'ann', 'ann'])
    await close()
  },
)

test('a write that does not happen forgets nothing', async () => {
  const { writer, told, close } = writing()
  await expect(writer.delete(ANN, 'user', 'm', {})).rejects.toMatchObject({ code: 'MODULE_NOT_FOUND' })
  const wrong = { ifMatch: new Set(['f'.repeat(64)]) }
  const source = Buffer.from(FIRST)
  await expect(
    writer.put(ANN, { layer: 'user', name: 'm', source, precondition: wrong }),
  ).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' })
  expect(told).toEqual([])
  await close()
})

test('a runner that never answers keeps no write waiting', async () => {
  const { writer, told, close } = writing(() => new Promise(() => undefined))
  const upload = { layer: 'user', name: 'm', source: Buffer.from(FIRST), precondition: {} } as const
  await writer.put(ANN, upload)
  await writer.delete(ANN, 'user', 'm', {})
  expect(told).toHaveLength(1)
  await close()
})
