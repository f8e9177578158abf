import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { runChild, withFirstOnPath } from './child.mjs'
import { installPackages } from './npm.mjs'
import { pinnedNode } from './pinned-node.mjs'
import { SetupError } from './setup-error.mjs'

/** The checkout that these scripts belong to. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/** The variable by which Node keeps its compiled code for the next start. It halves the time in which the service starts. */
export const compileCache = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled') }

/** Installs everything that `mode` needs. Resolves to the path of the Node to use. */
export async function prepare(mode) {
  const node = await pinnedNode(root)
  await installPackages(root, node, mode)
  return node
}

/** Runs a JavaScript or TypeScript file with the pinned Node, which is also `node` on its PATH. */
export function runWithNode(node, args, { env = process.env, ...options } = {}) {
  return runChild(node, ['--disable-warning=ExperimentalWarning', ...args], {
    cwd: root,
    env: withFirstOnPath({ ...compileCache, ...env }, node),
    ...options,
  })
}

/** Installs the packages of this mode, then runs a TypeScript file of the checkout. Resolves to its exit code. */
export async function runProgram(mode, file, args = [], options = {}) {
  const node = await prepare(mode)
  return (await runWithNode(node, [join(root, file), ...args], { cwd: process.cwd(), ...options })).code
}

/**
 * Imports a module of the checkout as `module` with the pinned Node, and runs `code`. `env` has additional environment variables.
 * Returns the output of the code.
 */
export function evaluate(node, path, code = '', env = {}) {
  const url = pathToFileURL(join(root, path)).href
  const script = `const module = await import(${JSON.stringify(url)}); ${code}`
  const flags = ['--disable-warning=ExperimentalWarning', '--enable-source-maps', '--input-type=module']
  const { status, stdout, stderr } = spawnSync(node, [...flags, '--eval', script], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  if (status !== 0) throw new SetupError(stderr.trimEnd())
  return stdout
}
