import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { root, runWithNode } from './checkout.mjs'
import { SetupError } from './setup-error.mjs'

/**
 * Builds the client for publishing: one file with the client and the contract, and the types of both.
 * @param {string} node
 */
export async function buildClient(node, outDir = join(root, 'packages/client/dist')) {
  rmSync(outDir, { recursive: true, force: true })
  await bundleClient({ outfile: join(outDir, 'index.js') })
  await writeTypes(node, join(outDir, 'types'))
}

/**
 * Bundles the client for any platform, so that an import of a Node built-in is an error.
 * @param {import('esbuild').BuildOptions} options
 * @returns {Promise<import('esbuild').BuildResult>}
 */
export async function bundleClient(options) {
  // A static import would fail: this file is loaded before anything is installed.
  const { build } = await import('esbuild')
  return build({
    absWorkingDir: root,
    entryPoints: ['packages/client/src/index.ts'],
    bundle: true,
    platform: 'neutral',
    format: 'esm',
    target: 'es2022',
    logLevel: 'warning',
    ...options,
  })
}

/** Emits the types. Keeps only the files that the entry imports, directly or through other files. */
async function writeTypes(node, outDir) {
  const emitted = join(outDir, 'emitted')
  const args = [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'packages/client')]
  const { code } = await runWithNode(node, [...args, '--outDir', emitted])
  if (code !== 0) throw new SetupError('The types of the client could not be made.', code)
  for (const path of filesFrom(join(emitted, 'client/src/index.d.ts'))) {
    const target = join(outDir, relative(emitted, path))
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, published(readFileSync(path, 'utf8')))
  }
  rmSync(emitted, { recursive: true })
}

/**
 * Changes the imports of a type file to those of the published package. There the contract is in a folder beside the client's, and
 * the names of modules end in `.js`.
 */
function published(text) {
  return text
    .replaceAll("'@toolrack/contract'", "'../../contract/src/index.ts'")
    .replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'")
}

function filesFrom(entry, found = new Set()) {
  if (found.has(entry)) return found
  found.add(entry)
  for (const [, path] of published(readFileSync(entry, 'utf8')).matchAll(/from '(\.[^']*)\.js'/g))
    filesFrom(join(dirname(entry), `${path}.d.ts`), found)
  return found
}
