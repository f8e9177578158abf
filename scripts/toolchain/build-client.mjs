import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { runWithNode } from './checkout.mjs'
import { SetupError } from './setup-error.mjs'

/** Builds the client for publishing: one file that contains the contract too, and the types of both. */
export async function buildClient(root, node, outDir = join(root, 'packages/client/dist')) {
  rmSync(outDir, { recursive: true, force: true })
  await bundleClient(root, { outfile: join(outDir, 'index.js') })
  await writeTypes(root, node, join(outDir, 'types'))
}

/** Bundles the client for any platform, so that an import of a Node built-in is an error. */
export async function bundleClient(root, options) {
  // Imported here, because scripts are loaded before anything is installed.
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

/** Emits the types, and keeps the files that the entry imports, directly or not. */
async function writeTypes(root, node, outDir) {
  const emitted = join(outDir, 'emitted')
  const args = [join(root, 'node_modules/typescript/bin/tsc'), '-p', join(root, 'packages/client')]
  const { code } = await runWithNode(node, [...args, '--outDir', emitted], { cwd: root })
  if (code !== 0) throw new SetupError('The types of the client could not be made.', code)
  for (const path of filesFrom(join(emitted, 'client/src/index.d.ts'))) {
    const target = join(outDir, relative(emitted, path))
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, published(readFileSync(path, 'utf8')))
  }
  rmSync(emitted, { recursive: true })
}

/** A type file with the imports of the published package: the contract lies beside the client, and modules end in `.js`. */
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
