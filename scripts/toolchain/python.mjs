import { spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { PythonMissing } from './python-missing.mjs'

const oldest = [3, 11]
const names = ['python3.13', 'python3.12', 'python3.11', 'python3']
const usual = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin']

/** What a Python says of itself; it must be read by any Python there has ever been. */
const question = `
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

/**
 * The Python that the runner's environment is made from: `{ path, version }`. TOOLRACK_PYTHON settles it; else the newest
 * name on PATH and in the usual folders. Calls run under other accounts where the runner is root, so root takes one that
 * everybody may read before one in somebody's home, though that one rather than none.
 */
export function findPython({ env = process.env, isRoot = process.getuid?.() === 0, folders = usual } = {}) {
  if (env.TOOLRACK_PYTHON) return chosen(env)
  const older = new Set()
  let hidden
  for (const path of candidates(env, folders)) {
    const python = ask(path, env)
    if (python === undefined) continue
    if (!isNewEnough(python)) older.add(python.version)
    else if (!isRoot || python.isPublic) return python
    else hidden ??= python
  }
  if (hidden) return hidden
  const seen = older.size > 0 ? `only Python ${[...older].join(', ')} was found` : 'no Python was found'
  throw new PythonMissing(
    `The Python runner needs Python ${oldest.join('.')} or newer, and ${seen}: install one (on Debian and Ubuntu: apt install python3 python3-venv), or set TOOLRACK_PYTHON to one.`,
  )
}

function chosen(env) {
  const python = ask(env.TOOLRACK_PYTHON, env)
  if (python && isNewEnough(python)) return python
  const fault = python ? `is Python ${python.version}` : 'can not be run as a Python'
  throw new PythonMissing(
    `TOOLRACK_PYTHON must be the path of a Python ${oldest.join('.')} or newer, and what it names ${fault}: correct it, or leave it out.`,
  )
}

/** Every place where one may be, each file once: a name that pyenv puts in front hides the system's behind it. */
function candidates(env, folders) {
  const onPath = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  const paths = names.flatMap((name) => [...onPath, ...folders].map((folder) => join(folder, name)))
  const byFile = new Map()
  for (const path of paths.filter((path) => existsSync(path))) {
    const file = realpathSync(path)
    if (!byFile.has(file)) byFile.set(file, path)
  }
  return byFile.values()
}

function ask(path, env) {
  const { stdout, status } = spawnSync(path, ['-I', '-c', question], {
    env,
    encoding: 'utf8',
    timeout: 20_000,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  if (status !== 0) return undefined
  try {
    const { version, ...told } = JSON.parse(stdout)
    return { ...told, version: version.join('.') }
  } catch {
    return undefined
  }
}

function isNewEnough({ version }) {
  const [major, minor] = version.split('.').map(Number)
  return major > oldest[0] || (major === oldest[0] && minor >= oldest[1])
}
