import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathFolders } from './child.mjs'
import { SetupError } from './setup-error.mjs'

const oldest = '3.11'
const names = ['python3.13', 'python3.12', 'python3.11', 'python3']
const usual = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin']

/** A program that prints the path, the version and the permissions of its Python. Every old Python must be able to run it. */
const program = `
import json, os, sys
def is_public(path, wanted):
    path = os.path.realpath(path)
    if os.stat(path).st_mode & wanted != wanted: return False
    parent = os.path.dirname(path)
    return parent == path or is_public(parent, 1)
base = getattr(sys, '_base_executable', None) or sys.executable
print(json.dumps({
    'path': base,
    'version': list(sys.version_info[:3]),
    'isPublic': is_public(base, 5) and is_public(os.path.dirname(os.__file__), 5),
}))
`

/** The Python environment cannot be made on this machine. A command that does not need Python continues, and shows the message. */
export class PythonError extends SetupError {
  name = 'PythonError'
}

/**
 * Finds the Python for the runner's environment: `{ path, version }`. This is TOOLRACK_PYTHON if it is set, else the Python
 * with the newest name on PATH and in the usual folders. A runner of root runs calls under other accounts. So for root, a Python
 * that everybody may read comes before a Python in a user's home.
 * @param {{ env?: NodeJS.ProcessEnv, isRoot?: boolean, folders?: readonly string[] }} [machine]
 * @returns {{ path: string, version: string }}
 */
export function findPython({ env = process.env, isRoot = process.getuid?.() === 0, folders = usual } = {}) {
  if (env.TOOLRACK_PYTHON) return chosenPython(env.TOOLRACK_PYTHON, env)
  const older = new Set()
  let hidden
  const searched = [...pathFolders(env), ...folders]
  for (const path of new Set(names.flatMap((name) => searched.map((folder) => join(folder, name))))) {
    const python = existsSync(path) ? ask(path, env) : undefined
    if (python === undefined) continue
    if (!isNewEnough(python)) older.add(python.version)
    else if (!isRoot || python.isPublic) return python
    else hidden ??= python
  }
  if (hidden) return hidden
  const found = older.size > 0 ? `only Python ${[...older].join(', ')} was found` : 'no Python was found'
  throw new PythonError(
    `The Python runner needs Python ${oldest} or newer, and ${found}: install one (on Debian and Ubuntu: apt install python3 python3-venv), or set TOOLRACK_PYTHON to one.`,
  )
}

function chosenPython(path, env) {
  const python = ask(path, env)
  if (python && isNewEnough(python)) return python
  const fault = python ? `is Python ${python.version}` : 'cannot be run as a Python'
  throw new PythonError(
    `TOOLRACK_PYTHON must be the path of a Python ${oldest} or newer, and what it names ${fault}: correct it, or leave it out.`,
  )
}

function ask(path, env) {
  const { stdout, status } = spawnSync(path, ['-I', '-c', program], {
    env,
    encoding: 'utf8',
    timeout: 20_000,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  if (status !== 0) return undefined
  const { version, ...python } = JSON.parse(stdout)
  return { ...python, version: version.join('.') }
}

function isNewEnough({ version }) {
  return version.localeCompare(oldest, 'en', { numeric: true }) >= 0
}
