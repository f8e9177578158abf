import { expect, test } from '@jest/globals'
import type { Plugin } from 'esbuild'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { bundleClient } from '../../scripts/toolchain/build-client.mjs'
import { ROOT } from '../support/source-tree.ts'

const root = fileURLToPath(ROOT)

/** The definitions that ship, and what makes lists of definitions: an answer for when the service is away. */
const withoutFallback: Plugin = {
  name: 'without-fallback',
  setup: (build) =>
    build.onLoad({ filter: /(?:standard-definitions|local-list)\.ts$/ }, () => ({
      contents: 'export const STANDARD_DEFINITIONS = [], localList = () => ({})',
    })),
}

/** The bytes that an app carries for these, as a bundler minifies and a server compresses them. */
async function bytes(names: string, plugins: readonly Plugin[] = []): Promise<number> {
  const contents = `export { ${names} } from './packages/client/src/index.ts'`
  const { outputFiles } = await bundleClient(root, {
    entryPoints: [],
    stdin: { contents, resolveDir: root },
    minify: true,
    legalComments: 'none',
    plugins: [...plugins],
    write: false,
  })
  return gzipSync(outputFiles?.[0]?.contents ?? '', { level: 9 }).length
}

test('each of ToolDefs and ToolDispatcher is under 6 KB, the local fallback apart', async () => {
  expect(await bytes('ToolDefs', [withoutFallback])).toBeLessThan(6_000)
  expect(await bytes('ToolDispatcher')).toBeLessThan(6_000)
})

test('both together are under 8 KB, and under 15 KB with the local fallback', async () => {
  const both = 'ToolDefs, ToolDispatcher'
  expect(await bytes(both, [withoutFallback])).toBeLessThan(8_000)
  expect(await bytes(both)).toBeLessThan(15_000)
})
