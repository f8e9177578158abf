import { dirname, join } from 'node:path'
import { fingerprint, manifestPaths, readStamp, stampText } from './stamp.mjs'

// `--include` outweighs NODE_ENV=production and a user's own `omit`, which would drop packages without a word.
const flagsOf = {
  full: ['--include=dev', '--include=optional'],
  runtime: ['--omit=dev', '--include=optional'],
}

/**
 * Installs the checkout's packages when they are not what the manifests say: `runtime` is what the service imports,
 * `full` is that and the development tools. npm runs in the pinned Node's process, because under an older Node it
 * leaves out optional packages that do not fit that Node. A checkout that was `full` stays so: pulling a change and
 * starting the service must not take the development tools away.
 */
export async function ensureDependencies(root, node, mode) {
  const stampPath = join(root, 'node_modules/.toolrack-stamp')
  const manifests = manifestPaths(root)
  const digest = fingerprint(manifests)
  if (!isMissing()) return

  const { install } = await import('./install.mjs')
  const { installFailure, npmInstall } = await import('./npm.mjs')
  const { absentPlatformPackages } = await import('./platform-packages.mjs')
  const word = readStamp(stampPath)?.word === 'full' ? 'full' : mode
  const what = word === 'full' ? 'the run-time and development packages' : 'the run-time packages'
  await install({
    root,
    what,
    stampPath,
    folders: [...new Set(manifests.map((path) => join(dirname(path), 'node_modules')))],
    missing: isMissing,
    fill: async (onSpawn) => {
      const output = await npmInstall({ what, cwd: root, node, flags: flagsOf[word], onSpawn })
      const [absent] = absentPlatformPackages(root, { withDev: word === 'full' })
      if (absent) throw installFailure(`${what} (${absent} is not there)`, output)
      return stampText(digest, word)
    },
  })

  function isMissing() {
    const stamp = readStamp(stampPath)
    return stamp?.digest !== digest || !(stamp.word === 'full' || stamp.word === mode)
  }
}
