import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Bundles our own code into what `firebase deploy` uploads. One rule and no list to keep: what the deploy manifest
 * names stays an import, everything else is bundled. `index` is what Cloud Functions load, `local` the server of the
 * container; the schema worker is a file of its own because it is loaded by path.
 */
export async function bundle(functionsDir, options) {
  // Imported here: the scripts are read before anything is installed.
  const { build } = await import('esbuild')
  return build(bundleOptions(functionsDir, options))
}

/** Bundles anew whenever a source file changes, until the returned function is called. */
export async function watchBundle(functionsDir, onBuilt) {
  const { context } = await import('esbuild')
  const tellBuilt = {
    name: 'tell-built',
    setup: (build) => build.onEnd(({ errors }) => onBuilt(errors.length)),
  }
  const watching = await context({ ...bundleOptions(functionsDir), plugins: [tellBuilt] })
  await watching.watch()
  return () => watching.dispose()
}

function bundleOptions(functionsDir, { logLevel = 'warning' } = {}) {
  const manifest = JSON.parse(readFileSync(join(functionsDir, 'package.json'), 'utf8'))
  return {
    absWorkingDir: functionsDir,
    entryPoints: {
      index: 'src/index.ts',
      local: 'src/local.ts',
      'schema-worker': 'src/schemas/schema-worker.ts',
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
