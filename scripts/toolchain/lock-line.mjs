import { readFileSync } from 'node:fs'
import { basename } from 'node:path'

/**
 * The line of a lock file that pip names in its error output, as `{ number, text }`; undefined if pip names no line. The text is
 * the name and the version of the package.
 * @param {string} output
 * @param {string} lock
 * @returns {{ number: number, text: string } | undefined}
 */
export function lineNamedBy(output, lock) {
  const lines = readFileSync(lock, 'utf8').split('\n')
  const number = numberIn(output, basename(lock)) ?? numberOfPackage(output, lines)
  const text = number === undefined ? undefined : lines[number - 1]
  return text === undefined ? undefined : { number, text: text.replace(/\s*[;\\#].*$/, '').trim() }
}

/** pip names a line in two ways: `packages.txt (line 3)` and `line 3 of packages.txt`. */
function numberIn(output, name) {
  for (const line of output.split('\n')) {
    const at = line.indexOf(name)
    if (at < 0) continue
    const found =
      /^ \(line (\d+)\)/.exec(line.slice(at + name.length)) ?? / line (\d+) of \S*$/.exec(line.slice(0, at))
    if (found) return Number(found[1])
  }
  return undefined
}

/** If pip has not found a package, its error names only the package: `No matching distribution found for humanize==4.12.3`. */
function numberOfPackage(output, lines) {
  const errors = output.split('\n').filter((line) => line.startsWith('ERROR:'))
  const words = new Set(errors.flatMap((line) => line.split(/[\s,()]+/)))
  const index = lines.findIndex((line) => {
    const [pinned] = /^[\w.-]+(?:\[[^\]]*\])?==[^\s;]+/.exec(line) ?? []
    return pinned !== undefined && words.has(pinned)
  })
  return index < 0 ? undefined : index + 1
}
