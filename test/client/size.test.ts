import { expect, test } from '@jest/globals'
import type { Plugin } from 'esbuild'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { bundleClient } from '../../scripts/toolchain/build-client.mjs'
import { ROOT } from '../support/source-tree.ts'

const root = fileURLToPath(ROOT)

const withoutDefinitions: Plugin = {
  name: 'without-definitions',
  setup: (build) =>
    build.onLoad({ filter: /standard-definitions\.ts$/ }, () => ({
      contents: 'export const STANDARD_DEFINITIONS = []',
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

test('each of ToolDefs and ToolDispatcher is under 6 KB, the definitions that ship apart', async () => {
  expect(await bytes('ToolDefs', [withoutDefinitions])).toBeLessThan(6_000)
  expect(await bytes('ToolDispatcher')).toBeLessThan(6_000)
})

test('both together are under 8 KB, and with the definitions that ship under 11 KB', async () => {
  const both = 'ToolDefs, ToolDispatcher'
  expect(await bytes(both, [withoutDefinitions])).toBeLessThan(8_000)
  expect(await bytes(both)).toBeLessThan(11_000)
})
