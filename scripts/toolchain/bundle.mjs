import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Bundles our own code into what `firebase deploy` uploads. One rule and no list to keep: what the deploy manifest
 * names stays an import, everything else is bundled. The schema worker is a second file because it is loaded by path.
 */
export async function bundle(functionsDir, { logLevel = 'warning' } = {}) {
  // Imported here: the scripts are read before anything is installed.
  const { build } = await import('esbuild')
  const manifest = JSON.parse(readFileSync(join(functionsDir, 'package.json'), 'utf8'))
  return build({
    absWorkingDir: functionsDir,
    entryPoints: { local: 'src/local.ts', 'schema-worker': 'src/schemas/schema-worker.ts' },
    outdir: 'dist',
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    sourcemap: true,
    logLevel,
    external: Object.keys(manifest.dependencies),
  })
}
