import { SetupError } from './setup-error.mjs'

/** A name, perhaps extras, perhaps ranges of versions: `pandas`, `httpx[http2]>=0.27,<1`. No URL and no path has this form. */
const requirement =
  /^([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)(?:\[[\w.,-]+\])?((?:===?|[<>!~]=|[<>])[\w.*+!]+(?:,(?:===?|[<>!~]=|[<>])[\w.*+!]+)*)?$/

/**
 * The lines of `packages.in` after these requirements were added. A requirement replaces the line of the same package.
 * @param {readonly string[]} lines
 * @param {readonly string[]} texts
 */
export function withPackages(lines, texts) {
  const wanted = new Map(texts.map((text) => [nameIn(text), compact(text)]))
  const kept = lines.filter((line) => !wanted.has(nameOfLine(line)))
  return [...kept, ...wanted.values()]
}

/**
 * The lines of `packages.in` without these packages. Throws a SetupError if a package is not there.
 * @param {readonly string[]} lines
 * @param {readonly string[]} names
 */
export function withoutPackages(lines, names) {
  const there = new Set(lines.map(nameOfLine))
  const unwanted = new Set(names.map(nameIn))
  for (const name of unwanted)
    if (!there.has(name))
      throw new SetupError(
        `${name} was not added, so it cannot be removed. npm run packages -- list shows what was.`,
      )
  return lines.filter((line) => !unwanted.has(nameOfLine(line)))
}

/** The lines that ask for a package, without comments. */
export function requestsIn(lines) {
  return lines.map((line) => line.replace(/(?:^|\s)#.*$/, '').trim()).filter((line) => line !== '')
}

/** The versions in a lock, by the normalised name of the package. A package may have several, each for other versions of Python. */
export function versionsIn(lock) {
  const versions = new Map()
  for (const [, name, version] of lock.matchAll(/^([\w.-]+)==([^\s;\\]+)/gm)) {
    const others = versions.get(normalised(name)) ?? []
    versions.set(normalised(name), [...new Set([...others, version])])
  }
  return versions
}

/** The normalised name (PEP 503) in a line of `packages.in`; undefined if the line names no package. */
export function nameOfLine(line) {
  const [name] = /^[A-Za-z0-9][\w.-]*/.exec(line.trim()) ?? []
  return name === undefined ? undefined : normalised(name)
}

/** The requirement without spaces. Throws a SetupError if the text is no name with ranges of versions. */
export function compactRequirement(text) {
  nameIn(text)
  return compact(text)
}

function nameIn(text) {
  const [, name] = requirement.exec(compact(text)) ?? []
  if (name !== undefined) return normalised(name)
  throw new SetupError(
    `'${text}' is no package: give a name, perhaps with versions in quotes, such as pandas or 'pandas>=2'. URLs and paths are not taken.`,
    2,
  )
}

/** The text without the spaces around its ranges. */
function compact(text) {
  return text.replaceAll(/ *([,<>=!~]+) */g, '$1')
}

function normalised(name) {
  return name.toLowerCase().replaceAll(/[-_.]+/g, '-')
}
