import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { withFirstOnPath } from './child.mjs'
import { fingerprint, install, runInstaller } from './install.mjs'
import { SetupError } from './setup-error.mjs'

// An `--include` overrides NODE_ENV=production and the user's own `omit`. Both would leave packages out silently.
const flagsOf = {
  full: ['--include=dev', '--include=optional'],
  runtime: ['--omit=dev', '--include=optional'],
}

/**
 * Not `npm ci`: it rejects a lock file without the optional packages of other platforms, and npm itself writes such a
 * lock where a registry lacks some of them. Install scripts stay off, because no package needs one and npm 10 would run
 * them. One short retry: with npm's own settings an install without a network takes many minutes to fail.
 */
const npmFlags = [
  '--no-save',
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--prefer-offline',
  '--fetch-retries=1',
  '--fetch-retry-mintimeout=1000',
]

/** Installs the packages of the checkout: `runtime` are those that the service imports, `full` are all. */
export async function installPackages(root, node, mode) {
  const manifests = manifestPaths(root)
  const what = mode === 'full' ? 'the run-time and development packages' : 'the run-time packages'
  await install({
    root,
    what,
    folders: [...new Set(manifests.map((path) => join(dirname(path), 'node_modules')))],
    digest: () => fingerprint(manifests),
    mode,
    fill: (wanted) => npmInstall({ what, cwd: root, node, flags: flagsOf[wanted] }),
  })
}

/** Installs what the lock file in `cwd` says. */
export async function npmInstall({ what, cwd, node, flags = [] }) {
  await runInstaller({
    what,
    command: [...npmCommand(node), 'install', ...npmFlags, ...flags],
    cwd,
    env: withFirstOnPath(process.env, node),
    failed: () => new SetupError(`Could not install ${what}. The lines above say what npm lacked.`),
  })
}

/** npm has to run on the pinned Node: on an older one it leaves out the optional packages that need a newer one. */
export function npmCommand(node) {
  const { npm_execpath: path = '' } = process.env
  return basename(path) === 'npm-cli.js' ? [node, path] : ['npm']
}

/** The root lock file and the manifest of every workspace. */
export function manifestPaths(root) {
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const folders = workspaces.flatMap((pattern) =>
    pattern.endsWith('/*') ? subfolders(root, pattern.slice(0, -2)) : [pattern],
  )
  return ['package-lock.json', 'package.json', ...folders.map((folder) => join(folder, 'package.json'))].map(
    (path) => join(root, path),
  )
}

function subfolders(root, parent) {
  return readdirSync(join(root, parent))
    .toSorted()
    .map((name) => join(parent, name))
}
