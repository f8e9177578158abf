import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { findPython } from './python.mjs'
import { PythonMissing } from './python-missing.mjs'
import { fingerprint, readStamp, stampText } from './stamp.mjs'

const locks = { runtime: 'requirements.txt', full: 'requirements-dev.txt' }

/**
 * The runner's Python: `{ python }`, the path of the interpreter in its virtual environment, or `{ missing }`, a sentence
 * that says what to do about it. The environment is made when it is not what the locks and TOOLRACK_PYTHON ask for: `runtime`
 * holds what the runner imports, `full` its checks and tests too. One that was `full` stays so. A finished environment is
 * known by its stamp alone, and by its interpreter being where it was; no Python is started to find out.
 */
export async function ensurePythonEnvironment(root, mode, env = process.env) {
  if (process.platform === 'win32') return { missing: 'The Python runner needs Linux or macOS.' }
  const folder = join(root, 'python-runner')
  const environment = join(folder, '.venv')
  const python = join(environment, 'bin/python')
  const stampPath = join(environment, '.toolrack-stamp')
  try {
    const wanted = env.TOOLRACK_PYTHON ? findPython({ env }) : undefined
    if (isMissing()) await make(wanted ?? findPython({ env }))
    return { python }

    function isMissing() {
      const stamp = readStamp(stampPath)
      const interpreter = realPath(python)
      const isOther = wanted !== undefined && interpreter !== realPath(wanted.path)
      if (stamp === undefined || isOther) return true
      return stamp.digest !== digestWith(interpreter) || !(stamp.word === 'full' || stamp.word === mode)
    }

    async function make(base) {
      const { install } = await import('./install.mjs')
      const { makeVirtualEnvironment } = await import('./virtual-environment.mjs')
      const { pipInstall } = await import('./pip.mjs')
      const word = readStamp(stampPath)?.word === 'full' ? 'full' : mode
      const what = `the Python runner's packages, with Python ${base.version}`
      await install({
        root,
        what,
        stampPath,
        folders: [environment],
        missing: isMissing,
        fill: async (onSpawn) => {
          const pip = await makeVirtualEnvironment({ base, environment, env, onSpawn })
          await pipInstall({ pip, what, lock: join(folder, locks[word]), env, onSpawn })
          return stampText(digestWith(realPath(python)), word)
        },
      })
    }
  } catch (err) {
    if (err instanceof PythonMissing) return { missing: err.message }
    throw err
  }

  function digestWith(interpreter) {
    return fingerprint(
      Object.values(locks).map((lock) => join(folder, lock)),
      interpreter,
    )
  }
}

function realPath(path) {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
