import { fileURLToPath } from 'node:url'
import { runChild, withFirstOnPath } from './child.mjs'
import { installPackages } from './npm.mjs'
import { pinnedNode } from './pinned-node.mjs'

/** The checkout that these scripts belong to. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/** Installs everything that `mode` needs. Resolves to the path of the Node to use. */
export async function prepare(mode) {
  const node = await pinnedNode(root)
  await installPackages(root, node, mode)
  return node
}

/** Runs a JavaScript or TypeScript file with the pinned Node, which is also `node` on its PATH. */
export function runWithNode(node, args, { env = process.env, run = runChild, ...options } = {}) {
  return run(node, ['--disable-warning=ExperimentalWarning', ...args], {
    cwd: root,
    env: withFirstOnPath(env, node),
    ...options,
  })
}
