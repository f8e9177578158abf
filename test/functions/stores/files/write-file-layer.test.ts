import { expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtFileLayer } from '../../../../functions/src/stores/files/built-file-layer.ts'
import { writeOriginalFiles } from '../../../support/original-shapes.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))

/** A copy of `functions/` without definition files, and the step of the build that writes its file layer. */
function copyOfFunctions() {
  const folder = temporaryFolder()
  const functions = join(folder.path, 'functions')
  cpSync(join(ROOT, 'functions/src'), join(functions, 'src'), { recursive: true })
  cpSync(join(ROOT, 'functions/package.json'), join(functions, 'package.json'))
  for (const name of ['node_modules', 'functions/node_modules'])
    if (existsSync(join(ROOT, name))) symlinkSync(join(ROOT, name), join(folder.path, name), 'junction')
  const definitions = join(functions, 'workflows/tools/defs')
  for (const path of [join(functions, 'dist'), definitions]) mkdirSync(path, { recursive: true })
  const script = join(functions, 'src/stores/files/write-file-layer.ts')
  return {
    definitions,
    write: () => spawnSync(process.execPath, [script], { encoding: 'utf8' }),
    layer: () => builtFileLayer(join(functions, 'dist/file-layer.json')).read(),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

test('the build keeps a folder in all shapes of the original engine as it is', async () => {
  using copy = copyOfFunctions()
  const names = writeOriginalFiles(copy.definitions).map(({ name }) => name)
  expect(copy.write()).toMatchObject({ status: 0, stderr: '' })
  const { definitions, skipped } = await copy.layer()
  expect(skipped).toEqual([])
  expect(definitions.map(({ name }) => name).toSorted()).toEqual(names.toSorted())
}, 60_000)

test('the build says that a folder has nothing to serve, and so does the layer that it writes', async () => {
  using copy = copyOfFunctions()
  const { status, stderr } = copy.write()
  expect(status).toBe(0)
  expect(stderr).toMatch(/^Not served: \*\.json: no definition can be served: /)
  expect((await copy.layer()).skipped).toMatchObject([{ source: '*.json' }])
}, 60_000)
