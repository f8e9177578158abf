import { cpSync, existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { withFirstOnPath } from './child.mjs'
import { fingerprint, install, runInstaller } from './install.mjs'
import { SetupError } from './setup-error.mjs'

// `--include` overrides NODE_ENV=production and the user's own `omit`, which would silently omit packages.
const flagsOf = {
  full: ['--include=dev', '--include=optional'],
  runtime: ['--omit=dev', '--include=optional'],
}

/**
 * Flags for `npm install`. `npm ci` is not used, because it rejects a lock file without the optional packages of other platforms.
 * npm itself writes a lock file without them if a registry lacks them. Install scripts are off: no package needs one, but npm 10
 * would run them. There is only one short retry, because with npm's own settings an install without a network takes many
 * minutes to fail.
 */
const npmFlags = [
  '--no-save',
  '--ignore-scripts',
  '--no-audit',
  '--prefer-offline',
  '--fetch-retries=1',
  '--fetch-retry-mintimeout=1000',
  // An npm that runs a script passes its own options on to this npm. These flags reset options with which this npm would install
  // nothing, or install into another folder.
  '--dry-run=false',
  '--package-lock-only=false',
  '--global=false',
  '--location=project',
]

/** Installs the packages of the checkout: with `runtime` only those that the service imports, with `full` all. */
export async function installPackages(root, node, mode) {
  const lock = join(root, 'package-lock.json')
  const workspaces = workspacesOf(root)
  const what = mode === 'full' ? 'the run-time and development packages' : 'the run-time packages'
  await install({
    root,
    what,
    folders: workspaces.map((workspace) => join(root, workspace, 'node_modules')),
    digest: () => fingerprint([lock]),
    mode,
    fill: async (wanted, place) => {
      const manifests = workspaces.map((workspace) => join(workspace, 'package.json'))
      copyFiles(['package-lock.json', '.npmrc', ...manifests], root, place)
      await npmInstall({ what, cwd: place, node, flags: flagsOf[wanted] })
      if (process.platform === 'win32') relink(root, place)
    },
  })
}

/** Copies the files that exist, with their folders. */
export function copyFiles(paths, from, to) {
  for (const path of paths.filter((each) => existsSync(join(from, each))))
    cpSync(join(from, path), join(to, path))
}

/** Makes the links to workspaces point to the checkout. On Windows npm makes absolute links, which would point to `place`. */
function relink(root, place) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  for (const [path, { link, resolved }] of Object.entries(packages)) {
    if (!link) continue
    rmSync(join(place, path), { recursive: true, force: true })
    symlinkSync(join(root, resolved), join(place, path), 'junction')
  }
}

/**
 * Installs the packages of the lock file in `cwd`.
 * @param {{ what: string, cwd: string, node: string, flags?: readonly string[] }} options
 */
export async function npmInstall({ what, cwd, node, flags = [] }) {
  await runInstaller({
    what,
    command: [...npmCommand(node), 'install', ...npmFlags, ...flags],
    cwd,
    env: withFirstOnPath(process.env, node),
    failed: () => new SetupError(`Could not install ${what}. The lines above say what npm lacked.`),
  })
  // npm writes this file at the end of every install.
  if (!existsSync(join(cwd, 'node_modules/.package-lock.json')))
    throw new SetupError(
      `Could not install ${what}: npm ended without an error, but installed nothing. npm config list shows its settings.`,
    )
}

/**
 * npm on the pinned Node. On an older Node npm would omit optional packages that need a newer one.
 * @param {string} node
 * @returns {[command: string, ...args: string[]]}
 */
export function npmCommand(node) {
  const { npm_execpath: path = '' } = process.env
  return basename(path) === 'npm-cli.js' ? [node, path] : ['npm']
}

/**
 * The folders with a manifest, as the lock file names them. The first is '', the checkout itself.
 * @param {string} root
 */
export function workspacesOf(root) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  return Object.keys(packages).filter((path) => !path.includes('node_modules'))
}
