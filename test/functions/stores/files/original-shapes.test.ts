import { afterAll, expect, test } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FileLayer } from '../../../../functions/src/stores/files/file-layer.ts'
import { foreignDefinition } from '../../../../functions/src/stores/firestore/foreign-documents.ts'
import { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'
import { originalShapes, writeOriginalFiles, type OriginalShape } from '../../../support/original-shapes.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const compilers = new SchemaCompilers()
afterAll(() => compilers.close())

/** The stored definition that a shape must become. */
function wanted({ name, description, parameters, workflowName }: OriginalShape, category?: string) {
  return {
    type: 'function',
    function: { name, description, parameters },
    ...(workflowName !== undefined && { runner: { kind: 'workflow', workflowName } }),
    ...(category !== undefined && { category }),
  }
}

test('a folder with all shapes of the original engine in all places is read whole', async () => {
  using folder = temporaryFolder()
  const written = writeOriginalFiles(folder.path)
  expect(written.length).toBeGreaterThan(200)
  const { definitions, skipped } = await new FileLayer(folder.path, compilers).read()
  expect(skipped).toEqual([])
  const read = new Map(definitions.map(({ name, text }) => [name, JSON.parse(text) as unknown]))
  expect(read.size).toBe(written.length)
  for (const shape of written)
    expect([shape.title, read.get(shape.name)]).toEqual([shape.title, wanted(shape, shape.category)])
}, 60_000)

test('a broken file among them is named, and the others are read', async () => {
  using folder = temporaryFolder()
  const written = writeOriginalFiles(folder.path)
  writeFileSync(join(folder.path, 'cli/broken.json'), '{"type": "function",')
  writeFileSync(join(folder.path, 'cli/nameless.json'), JSON.stringify({ description: 'X.', spec: {} }))
  const { definitions, skipped } = await new FileLayer(folder.path, compilers).read()
  expect(skipped).toEqual([
    { source: 'cli/broken.json', pointer: '', message: 'is not valid JSON (it ends too early)' },
    { source: 'cli/nameless.json', pointer: '/name', message: 'is missing; it must be a string' },
  ])
  expect(definitions).toHaveLength(written.length)
}, 60_000)

test('documents in all shapes of the original engine are read from Firestore', async () => {
  for (const shape of originalShapes()) {
    const data = { ...shape.sent, created: new Date(), owner: 'ann' }
    const read = await foreignDefinition({ id: 'Xk39', data, updatedAt: '1' }, compilers)
    const text = 'definition' in read ? read.definition.text : JSON.stringify(read.skipped)
    expect([shape.title, JSON.parse(text)]).toEqual([shape.title, wanted(shape)])
  }
}, 60_000)
