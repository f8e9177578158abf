import { readFileSync } from 'node:fs'
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
 * Flags for `npm install`. `npm ci` is not used: it rejects a lock file without the optional packages of other platforms,
 * and npm itself writes such a lock if a registry lacks some of these packages. Install scripts stay off, because no
 * package needs one and npm 10 would run them. There is only one short retry: with npm's own settings an install without
 * a network takes many minutes to fail.
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

/** Installs the packages of the checkout: with `runtime` only those that the service imports, with `full` all. */
export async function installPackages(root, node, mode) {
  const lock = join(root, 'package-lock.json')
  const what = mode === 'full' ? 'the run-time and development packages' : 'the run-time packages'
  await install({
    root,
    what,
    folders: workspacesOf(root).map((workspace) => join(root, workspace, 'node_modules')),
    digest: () => fingerprint([lock]),
    mode,
    fill: (wanted) => npmInstall({ what, cwd: root, node, flags: flagsOf[wanted] }),
  })
}

/** Installs the packages of the lock file in `cwd`. */
export async function npmInstall({ what, cwd, node, flags = [] }) {
  await runInstaller({
    what,
    command: [...npmCommand(node), 'install', ...npmFlags, ...flags],
    cwd,
    env: withFirstOnPath(process.env, node),
    failed: () => new SetupError(`Could not install ${what}. The lines above say what npm lacked.`),
  })
}

/** npm on the pinned Node. On an older Node npm would omit optional packages that need a newer one. */
export function npmCommand(node) {
  const { npm_execpath: path = '' } = process.env
  return basename(path) === 'npm-cli.js' ? [node, path] : ['npm']
}

/** The folders with a manifest, as the lock file names them. The first is '', the checkout itself. */
export function workspacesOf(root) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  return Object.keys(packages).filter((path) => !path.includes('node_modules'))
}
