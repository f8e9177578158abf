import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/toolchain/checkout.mjs'
import { install } from '../../scripts/toolchain/install.mjs'
import { pipInstall, runPython } from '../../scripts/toolchain/pip.mjs'
import { findPython } from '../../scripts/toolchain/python.mjs'
import { fingerprint, readStamp, stampText } from '../../scripts/toolchain/stamp.mjs'
import { makeVirtualEnvironment } from '../../scripts/toolchain/virtual-environment.mjs'

const env = process.env
const folder = join(root, 'bench/python')
const environment = join(folder, '.venv')
const lock = join(folder, 'requirements.txt')
const stampPath = join(environment, '.toolrack-stamp')

/**
 * The interpreter of a virtual environment that holds what the runner runs on and what its peers do, so that both sides
 * start the same Python among the same packages. Made when it is not what the lock asks for.
 */
export async function benchPython() {
  const base = findPython()
  const what = `the packages of the runner's benchmark, with Python ${base.version}`
  const digest = fingerprint([lock], realpathSync(base.path))
  await install({
    root,
    what,
    stampPath,
    folders: [environment],
    missing: () => readStamp(stampPath)?.digest !== digest,
    fill: async (onSpawn) => {
      const pip = await makeVirtualEnvironment({ base, environment, env, onSpawn })
      await pipInstall({ pip, what, lock, env, onSpawn })
      // It comes with pip, and hooks into every start of an interpreter: a peer that carries it is slower than it need be.
      await runPython([...pip, 'uninstall', '--quiet', '--yes', 'setuptools'], { env, onSpawn })
      return stampText(digest, 'full')
    },
  })
  return join(environment, 'bin/python')
}
