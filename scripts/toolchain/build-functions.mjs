import { join } from 'node:path'
import { bundle } from './bundle.mjs'
import { runWithNode } from './checkout.mjs'
import { SetupFailure } from './setup-failure.mjs'

/** `functions/dist`, ready to upload: the bundles, and the file layer as the service would read it. */
export async function buildFunctions(root, node, options) {
  await bundle(join(root, 'functions'), options)
  await writeFileLayer(root, node)
}

/** Reads and admits the definition files once, so that no cold start has to compile their schemas. */
export async function writeFileLayer(root, node) {
  const script = join(root, 'functions/src/stores/files/write-file-layer.ts')
  const { code } = await runWithNode(node, [script], { cwd: root })
  if (code !== 0) throw new SetupFailure('The definition files could not be read.', code)
}
