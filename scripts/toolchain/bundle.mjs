import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Bundles our own code into what `firebase deploy` uploads. One rule and no list to keep: what the deploy manifest
 * names stays an import, everything else is bundled. `index` is what Cloud Functions load, `local` the server of the
 * container; the functions' declaration, the programs of the two worker processes and the validator are files of their own because they are loaded by path.
 */
export async function bundle(functionsDir, options) {
  // Imported here: the scripts are read before anything is installed.
  const { build } = await import('esbuild')
  return build(bundleOptions(functionsDir, options))
}

/** Bundles, and again whenever a source file changes, until `stop` is called; `errors` counts those of the first time. */
export async function watchBundle(functionsDir) {
  const { context } = await import('esbuild')
  let tellFirst
  const first = new Promise((resolve) => (tellFirst = resolve))
  const tell = { name: 'tell', setup: (build) => build.onEnd(({ errors }) => tellFirst(errors.length)) }
  const watching = await context({ ...bundleOptions(functionsDir), plugins: [tell] })
  await watching.watch()
  return { errors: await first, stop: () => watching.dispose() }
}

function bundleOptions(functionsDir, { logLevel = 'warning' } = {}) {
  const manifest = JSON.parse(readFileSync(join(functionsDir, 'package.json'), 'utf8'))
  return {
    absWorkingDir: functionsDir,
    entryPoints: {
      index: 'src/index.ts',
      declaration: 'src/declaration.ts',
      local: 'src/local.ts',
      'argument-worker': 'src/tools/schemas/argument-worker.ts',
      'schema-worker': 'src/tools/schemas/schema-worker.ts',
      'validate-arguments': 'src/tools/schemas/validate-arguments.ts',
    },
    outdir: 'dist',
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    sourcemap: true,
    logLevel,
    external: Object.keys(manifest.dependencies),
  }
}
