import { parsedJson } from './json.ts'

/** The tools that a request asks for. Each entry is a name or an alias. `@sha256:…` can follow it. */
export type NameFilter = 'all' | ReadonlySet<string>

/**
 * Why the value of a parameter is not valid. The text can follow the name of the parameter: `names is not a JSON array of
 * strings`.
 */
export type NameFilterFault = { readonly fault: string }

/** The most names of one request. Each of them is looked up. */
const NAMES_MAX = 200

/**
 * Collects the names in all values of a parameter. Each value is a name, a list with commas, or a JSON array of strings. Blanks
 * and extra commas are ignored. If no value has a name, every tool is meant. But `[]` means no tool.
 */
export function parseNameFilter(values: readonly string[]): NameFilter | NameFilterFault {
  const names = new Set<string>()
  let asksForNone = false
  for (const value of values) {
    const entries = value.trim().startsWith('[') ? parseArray(value) : value.split(',')
    if (entries === undefined) return { fault: 'is not a JSON array of strings' }
    asksForNone ||= value.trim().startsWith('[') && entries.length === 0
    for (const entry of entries) if (entry.trim() !== '') names.add(entry.trim())
  }
  if (names.size > NAMES_MAX) return { fault: `holds ${names.size} names; at most ${NAMES_MAX} are allowed` }
  return names.size === 0 && !asksForNone ? 'all' : names
}

/** Splits an entry into the name and the digest: `a@sha256:…` asks for one version of `a`. */
export function parseNameEntry(entry: string): { readonly name: string; readonly digest?: string } {
  const at = entry.indexOf('@')
  return at === -1 ? { name: entry } : { name: entry.slice(0, at), digest: entry.slice(at + 1) }
}

function parseArray(text: string): string[] | undefined {
  const value = parsedJson(text)
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string') ? value : undefined
}
