import { fileURLToPath } from 'node:url'
import { runChild, withFirstOnPath } from './child.mjs'
import { ensureDependencies } from './dependencies.mjs'
import { pinnedNode } from './pinned-node.mjs'
import { ensurePythonEnvironment } from './python-environment.mjs'

/** The checkout these scripts belong to. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/** Everything installed that `mode` needs; resolves to the path of the Node to use. */
export async function prepare(mode) {
  const node = await pinnedNode(root)
  await ensureDependencies(root, node, mode)
  return node
}

/** The Python of the runner, for the commands that need one: `{ python }`, or why it is `{ missing }`. */
export function preparePython(mode) {
  return ensurePythonEnvironment(root, mode)
}

/** Runs a JavaScript or TypeScript file of the checkout with the pinned Node, which is also `node` on its PATH. */
export function runWithNode(node, args, { env = process.env, ...options } = {}) {
  return runChild(node, ['--disable-warning=ExperimentalWarning', ...args], {
    env: withFirstOnPath(env, node),
    ...options,
  })
}
