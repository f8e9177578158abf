import { expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { builtFileLayer } from '../../../../functions/src/stores/files/built-file-layer.ts'
import { copyOfFunctions } from '../../../support/copy-of-functions.ts'
import { writeOriginalFiles } from '../../../support/original-shapes.ts'

/** A copy of `functions/` without definition files, and the step of the build that writes its file layer. */
function builtCopy() {
  const copy = copyOfFunctions()
  const { functions } = copy
  const script = join(functions, 'src/stores/files/write-file-layer.ts')
  return {
    ...copy,
    write: () => spawnSync(process.execPath, [script], { encoding: 'utf8' }),
    layer: () => builtFileLayer(join(functions, 'dist/file-layer.json')).read(),
  }
}

test('the build keeps a folder in all shapes of the original engine as it is', async () => {
  using copy = builtCopy()
  const names = writeOriginalFiles(copy.definitions).map(({ name }) => name)
  expect(copy.write()).toMatchObject({ status: 0, stderr: '' })
  const { definitions, skipped } = await copy.layer()
  expect(skipped).toEqual([])
  const own = ['load_tools', 'read_artifact', 'search_tools']
  expect(definitions.map(({ name }) => name).toSorted()).toEqual([...names, ...own].toSorted())
}, 60_000)

test('the build says that a folder has nothing to serve, and so does the layer that it writes', async () => {
  using copy = builtCopy()
  const { status, stderr } = copy.write()
  expect(status).toBe(0)
  expect(stderr).toMatch(/^Not served: \*\.json: no definition can be served: /)
  expect((await copy.layer()).skipped).toMatchObject([{ source: '*.json' }])
}, 60_000)
