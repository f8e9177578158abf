import { parsedJson } from './json.ts'

/** Which names a request asks for: every tool, or these. An entry is a name, an alias, or either with `@sha256:…`. */
export type NameFilter = 'all' | ReadonlySet<string>

export const NAMES_MAX = 200

export type NameFilterFault = { readonly fault: string }

/**
 * Reads every accepted way to name tools and unites them. Each value is one name, a comma-separated list, or a JSON
 * array of strings; blanks and stray commas are tolerated. Nothing but blanks means no filter; `[]` means no tool.
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

/** The parts of a filter entry: `a@sha256:…` asks for one version of `a`. */
export function parseNameEntry(entry: string): { readonly name: string; readonly digest?: string } {
  const at = entry.indexOf('@')
  return at === -1 ? { name: entry } : { name: entry.slice(0, at), digest: entry.slice(at + 1) }
}

function parseArray(text: string): string[] | undefined {
  const value = parsedJson(text)
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string') ? value : undefined
}
