import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { newModuleSource, newTestSource } from './new-module-source.mjs'
import { keywords, standardLibrary } from './python-names.mjs'
import { compactRequirement, nameOfLine } from './requested-packages.mjs'
import { SetupError } from './setup-error.mjs'

/** The most characters of a module name, as in the runner. */
const nameMax = 64

/**
 * Writes a module with an example, and a test of the module. `path` is relative to `cwd`. `packages` are the requirements in the head of
 * the module, such as `pandas>=2`. Needs neither packages nor Python. Returns the lines to print for the author. If it throws a
 * SetupError, it has written nothing.
 */
export function newModule(root, cwd, path, packages = []) {
  const name = nameIn(path)
  const folder = dirname(path)
  // The folder `tests` has no `__init__.py`, so a watched folder does not upload it as a module.
  const test = join(folder, 'tests', `test_${name}.py`)
  const at = (file) => resolve(cwd, file)
  if (!statSync(at(folder), { throwIfNoEntry: false })?.isDirectory())
    throw new SetupError(`There is no folder ${folder}. Make it first.`)
  for (const file of [path, test]) if (existsSync(at(file))) throw refused(`${file} exists already.`)
  const requirements = packages.map((text) => compactRequirement(text.trim()))
  const asked = requirements.map((text) => (nameOfLine(text) ?? '').replaceAll('-', '_'))
  const fault = nameFault(root, name, asked)
  if (fault) throw refused(`${name}.py: ${fault}`)
  try {
    mkdirSync(dirname(at(test)), { recursive: true })
    writeFileSync(at(path), newModuleSource(name, requirements), { flag: 'wx' })
    writeFileSync(at(test), newTestSource(name, requirements), { flag: 'wx' })
  } catch (err) {
    throw new SetupError(`It cannot be written there (${err.code}).`)
  }
  return [
    `${path}: a module with the tool ${name}:repeat`,
    `${test}: its test, for: python -m pytest ${test}`,
    '',
    `npm run tool -- check ${path}`,
    `npm run tool -- call ${path} repeat text=hello times=3`,
  ]
}

function nameIn(path) {
  const file = basename(path)
  if (file.endsWith('.py') && file !== '.py') return file.slice(0, -'.py'.length)
  throw new SetupError(`${path}: the name of a module's file ends in .py, such as weather.py.`)
}

/** The reason why a module cannot have this name, in the words of the runner (`child/module/source.py`), or undefined. */
function nameFault(root, name, asked) {
  const rule = `1 to ${nameMax} ASCII letters, digits and _, not starting with a digit, and no Python keyword`
  if (!/^[A-Za-z_]\w*$/.test(name) || name.length > nameMax || keywords.has(name))
    return `this is no module name (${rule}). Rename the file.`
  if (name.startsWith('__')) return 'names that start with __ are reserved for Python. Rename the file.'
  const isStandard = standardLibrary.has(name)
  const isAsked = asked.includes(name)
  if (!isStandard && !isAsked && !packageNames(join(root, 'python-runner')).has(name)) return undefined
  const owner = isStandard
    ? "Python's standard library"
    : isAsked
      ? 'a package of the module'
      : 'an installed package'
  return `'${name}' is the name of ${owner}, which the file would hide. Rename it, for example to ${name}_tools.py.`
}

/** The names of the packages that modules can import: those that are installed, and those that the runner's locks name. */
function packageNames(runner) {
  const library = join(runner, '.venv/lib')
  const versions = existsSync(library) ? readdirSync(library) : []
  const installed = versions
    .map((version) => join(library, version, 'site-packages'))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder))
    .map((entry) => entry.replace(/\.py$/, ''))
  const locked = ['requirements.txt', 'packages.txt']
    .map((lock) => join(runner, lock))
    .filter((lock) => existsSync(lock))
    .flatMap((lock) => readFileSync(lock, 'utf8').match(/^[\w.-]+(?===)/gm) ?? [])
    .map((distribution) => distribution.replaceAll('-', '_').toLowerCase())
  return new Set([...installed, ...locked, 'toolrack_runner'])
}

function refused(sentence) {
  return new SetupError(`${sentence} Nothing was written.`)
}
