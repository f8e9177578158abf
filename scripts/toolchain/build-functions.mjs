import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, runWithNode } from './checkout.mjs'
import { SetupError } from './setup-error.mjs'

/**
 * Writes `functions/dist`, ready to upload: the bundles, and the file layer.
 * @param {string} node
 * @param {Pick<import('esbuild').BuildOptions, 'logLevel'>} [options]
 */
export async function buildFunctions(node, options) {
  await bundle(join(root, 'functions'), options)
  // The definition files are checked here, so that no cold start has to compile their schemas.
  const program = join(root, 'functions/src/stores/files/write-file-layer.ts')
  const { code } = await runWithNode(node, [program])
  if (code !== 0) throw new SetupError('The definition files could not be read.', code)
}

/**
 * Bundles our own code. Packages that `functions/package.json` lists stay imports. Cloud Functions load `index`; `local` is
 * the server of the container. The other entries are separate files, because they are loaded by path.
 * @param {string} functionsDir
 * @param {Pick<import('esbuild').BuildOptions, 'logLevel'>} [options]
 */
export async function bundle(functionsDir, options) {
  // A static import would fail: this file is loaded before anything is installed.
  const { build } = await import('esbuild')
  return build(bundleOptions(functionsDir, options))
}

/** Bundles now, and again after each change of a source file until `stop`. `errors` is the number of errors of the first bundle. */
export async function watchBundle() {
  const { context } = await import('esbuild')
  let onFirst
  const first = new Promise((resolve) => (onFirst = resolve))
  const plugin = {
    name: 'first build',
    setup: (build) => build.onEnd(({ errors }) => onFirst(errors.length)),
  }
  const watching = await context({ ...bundleOptions(join(root, 'functions')), plugins: [plugin] })
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
      'argument-worker': 'src/catalog/schemas/argument-worker.ts',
      'schema-worker': 'src/catalog/schemas/schema-worker.ts',
      'validate-arguments': 'src/catalog/schemas/validate-arguments.ts',
    },
    outdir: 'dist',
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    sourcemap: true,
    logLevel,
    external: Object.keys(manifest.dependencies),
    plugins: [withoutRouteSchemas],
  }
}

/**
 * A plugin that leaves the schemas of routes out, because only tests need them. They import zod. A bundle without splitting would
 * import zod at every cold start.
 */
const withoutRouteSchemas = {
  name: 'without the schemas of routes',
  setup: (build) =>
    build.onResolve({ filter: /^\.\/[a-z-]+-schemas\.ts$/ }, ({ path }) => ({ path, external: true })),
}
