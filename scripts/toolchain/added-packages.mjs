import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './checkout.mjs'
import { exitCodeOf, quiet, runChild } from './child.mjs'
import { addedLock, preparePython, preparePythonWith } from './python-environment.mjs'
import { requestsIn } from './requested-packages.mjs'
import { SetupError } from './setup-error.mjs'
import { uvSource } from './wheel-source.mjs'

const runner = dirname(addedLock)
const listFile = join(runner, 'packages.in')

/** The first lines of a new `packages.in`. */
const listHead =
  '# The packages that modules can import without asking for them. Written by: npm run packages'

/** The lines of `packages.in`, which says what was asked for; none if the file does not exist. */
export function listedLines() {
  return existsSync(listFile) ? readFileSync(listFile, 'utf8').trimEnd().split('\n') : []
}

/** The text of the lock `packages.txt`, and whether the runner's environment has its packages. Starts no program. */
export function presentLock() {
  const lock = readOr(addedLock, '')
  return { lock, isInstalled: lock === readOr(join(runner, '.venv', 'packages.txt'), '') }
}

/**
 * Locks and installs the packages of these lines of `packages.in`, then writes `packages.in` and `packages.txt`. Resolves to the new
 * lock. If resolving or installing fails, throws a SetupError, and both files and the environment stay as they were. Without
 * `upgrade`, packages that are in the lock keep their versions if they can.
 * @param {readonly string[]} lines
 * @param {{ upgrade?: boolean }} [options]
 */
export async function changePackages(lines, { upgrade = false } = {}) {
  const before = listedLines()
  if (before.length === 0 && existsSync(addedLock))
    throw new SetupError(
      'python-runner/packages.txt is there, and python-runner/packages.in, from which it was made, is not. Write into packages.in what you want, one package in each line. Then run npm run packages -- upgrade. Nothing was changed.',
    )
  const { python, missing } = await preparePython('runtime')
  if (python === undefined) throw new SetupError(`${missing} Nothing was changed.`)
  mkdirSync(join(root, '.toolrack'), { recursive: true, mode: 0o700 })
  const work = mkdtempSync(join(root, '.toolrack/packages-'))
  try {
    const [list, lock] = [join(work, 'packages.in'), join(work, 'packages.txt')]
    const isEmpty = requestsIn(lines).length === 0
    if (!isEmpty) {
      writeFileSync(list, `${[...(before.length === 0 ? [listHead] : []), ...lines].join('\n')}\n`)
      await makeLock(python, work, upgrade)
    }
    const made = await preparePythonWith(lock)
    if (made.python === undefined) throw new SetupError(`${made.missing} Nothing was changed.`)
    // Another command may have changed the list in the meantime. Its change must not be lost.
    if (listedLines().join('\n') !== before.join('\n'))
      throw new SetupError(
        'Another command has changed python-runner/packages.in in the meantime: run this again.',
      )
    if (isEmpty) {
      for (const path of [addedLock, listFile]) rmSync(path, { force: true })
      return ''
    }
    const text = readFileSync(lock, 'utf8')
    renameSync(list, listFile)
    renameSync(lock, addedLock)
    return text
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Has uv write `packages.txt` in the folder `work`, from `packages.in` there. The runner's own packages keep their versions. */
async function makeLock(python, work, upgrade) {
  if (!upgrade && existsSync(addedLock)) copyFileSync(addedLock, join(work, 'packages.txt'))
  // With a relative path, the lock has no path of this machine.
  copyFileSync(join(runner, 'requirements.txt'), join(work, 'requirements.txt'))
  const source = uvSource()
  // The lock is for every version of Python that the runner supports, because the container has another one than this machine.
  const target = ['--universal', '--python-version', '3.11', '--python', python]
  const content = ['--generate-hashes', '--only-binary', ':all:']
  const header = ['--custom-compile-command', 'npm run packages -- upgrade', '--quiet']
  const options = [...target, ...content, ...header, ...(upgrade ? ['--upgrade'] : []), ...source.options]
  const args = ['pip', 'compile', 'packages.in', '-o', 'packages.txt', '-c', 'requirements.txt', ...options]
  const { code, interruptedBy, output } = await runChild(join(dirname(python), 'uv'), args, {
    cwd: work,
    env: { ...process.env, ...source.variables },
    ...quiet,
  })
  if (interruptedBy) throw new SetupError('Stopped. Nothing was changed.', exitCodeOf(interruptedBy))
  if (code === 0) return
  process.stderr.write(output)
  throw new SetupError('These packages cannot be locked: uv has said why. Nothing was changed.')
}

function readOr(path, otherwise) {
  return existsSync(path) ? readFileSync(path, 'utf8') : otherwise
}
