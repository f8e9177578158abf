import { expect, test } from '@jest/globals'
import type { Plugin } from 'esbuild'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { bundleClient } from '../../scripts/toolchain/build-client.mjs'
import { ROOT } from '../support/source-tree.ts'

const root = fileURLToPath(ROOT)

/** The definitions that ship, and what makes lists of definitions: an answer for when the service is away. */
const withoutFallback: Plugin = {
  name: 'without-fallback',
  setup: (build) =>
    build.onLoad({ filter: /local-list\.ts$/ }, () => ({
      contents: 'export const STANDARD_DEFINITIONS = [], localList = () => ({})',
    })),
}

/** The bytes that an app carries for these, as a bundler minifies and a server compresses them. */
async function bytes(names: string, plugins: readonly Plugin[] = []): Promise<number> {
  const contents = `export { ${names} } from './packages/client/src/index.ts'`
  const { outputFiles } = await bundleClient({
    entryPoints: [],
    stdin: { contents, resolveDir: root },
    minify: true,
    legalComments: 'none',
    plugins: [...plugins],
    write: false,
  })
  return gzipSync(outputFiles?.[0]?.contents ?? '', { level: 9 }).length
}

const rows = readFileSync(join(root, 'docs/reference/client.md'), 'utf8').matchAll(
  /^\| `(ToolD[\w, ]+)` \| ([\d.]+) \| ([\d.]+) \|$/gm,
)
const documented = Array.from(rows, ([, names = '', without = '', whole = '']) => [names, without, whole])

test('the documentation has the size of each and of both', () => {
  expect(documented.map(([names]) => names)).toEqual([
    'ToolDefs',
    'ToolDispatcher',
    'ToolDefs, ToolDispatcher',
  ])
})

test.each(documented)('the size of %s is what the documentation says', async (names = '', without, whole) => {
  const measured = [await bytes(names, [withoutFallback]), await bytes(names)]
  for (const [index, said] of [without, whole].entries())
    expect(Math.abs((measured[index] ?? 0) - Number(said) * 1_000)).toBeLessThan(100)
})

test('ToolDefs is under 6 KB and ToolDispatcher under 11 KB, the local fallback apart', async () => {
  expect(await bytes('ToolDefs', [withoutFallback])).toBeLessThan(6 * 1024)
  expect(await bytes('ToolDispatcher')).toBeLessThan(11 * 1024)
})

test('both together are under 14.7 KB, and under 23 KB with the local fallback', async () => {
  const both = 'ToolDefs, ToolDispatcher'
  expect(await bytes(both, [withoutFallback])).toBeLessThan(14_700)
  expect(await bytes(both)).toBeLessThan(23_000)
})
