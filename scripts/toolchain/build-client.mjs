import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { runWithNode } from './checkout.mjs'
import { SetupError } from './setup-error.mjs'

/** The client as it is published: one file with the contract in it, and the types of both beside it. */
export async function buildClient(root, node, outDir = join(root, 'packages/client/dist')) {
  rmSync(outDir, { recursive: true, force: true })
  await bundleClient(root, { outfile: join(outDir, 'index.js') })
  await writeTypes(root, node, join(outDir, 'types'))
}

/** Bundles the client for no platform in particular: an import of a Node built-in is an error. */
export async function bundleClient(root, options) {
  // Imported here: the scripts are read before anything is installed.
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

/** Emits the types, and keeps those that the entry leads to. */
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

/** What a type file imports, as it is published: the contract lies beside the client, and modules are named as they will be loaded. */
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
