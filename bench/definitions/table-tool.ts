import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { TOOLS } from './echo-tool.ts'

/** The file of the tool. Its head asks for pandas. */
export const TABLE_FILE = join(TOOLS, 'table_means.py')

const SOURCE = readFileSync(TABLE_FILE, 'utf8')
const HEAD = /^# \/\/\/ script\n(?:#.*\n)*?# \/\/\/\n/

/** A table of 1 kB. */
export const TABLE = `id,score\n${Array.from({ length: 120 }, (_, id) => `${id},${id / 8}\n`).join('')}`

/** The means of the table, which each call must return. */
export const MEANS = { id: 59.5, score: 7.4375 }

/** The module with its head, so that it gets an environment of its own. */
export function moduleWithHead(name: string): string {
  return SOURCE.replaceAll('table_means', name)
}

/** The module without its head, so that it gets the pandas that is installed with the runner. */
export function moduleWithoutHead(name: string): string {
  return moduleWithHead(name).replace(HEAD, '')
}

/** A module that imports only the standard library. With a head it also gets an environment, and imports nothing of it. */
export function plainModule(name: string, head = ''): string {
  return `${head}def means(text: str) -> dict:
    """Calculate the mean of each column of numbers."""
    names, *lines = [line.split(",") for line in text.split()]
    return {name: sum(float(line[at]) for line in lines) / len(lines) for at, name in enumerate(names)}


TOOL_SPECS = [{"name": "${name}:means", "handler": means}]
`
}

/** A head that asks for a package of 20 kB. */
export const SMALL_HEAD = '# /// script\n# dependencies = ["six"]\n# ///\n'
