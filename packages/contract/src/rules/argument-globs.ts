import type { Reading } from '../kinds/argument-kind.ts'
import { normalisedPath } from '../kinds/path-text.ts'
import { readText } from '../kinds/read-text.ts'
import { edited } from '../kinds/text-edit.ts'
import { canonicalUrl } from '../kinds/url-text.ts'
import type { RuleEffect } from './rule-set.ts'

/**
 * Rewrites a glob in the canonical spelling of a reading. A glob without wildcards is rewritten as a whole. In a path or a URL
 * with wildcards, only the fixed parts are rewritten. The result matches each canonical text that the glob matches. It is the
 * glob itself if no other spelling is known.
 */
export function normalGlob(glob: string, { kind, edit }: Reading): string {
  const changed = edit === undefined ? { text: glob } : edited(edit, glob)
  const text = typeof changed === 'string' || changed.text === '' ? glob : changed.text
  if (kind === 'path') return normalPathGlob(text)
  if (kind === 'url') return normalUrlGlob(text)
  if (kind === 'uuid' && hasWildcard(text)) return text.toLowerCase()
  if (hasWildcard(text)) return text
  const canonical = readText({ kind }, text)
  return typeof canonical === 'string' ? text : canonical.text
}

/**
 * The globs with which a value is compared for a rule with this glob. A `deny` or an `ask` holds for the meaning of the glob,
 * however its author has spelled it. An `allow` holds only for its exact text, because other spellings would allow more than its
 * author has written.
 */
export function globsFor(glob: string, reading: Reading, effect: RuleEffect): readonly string[] {
  if (effect === 'allow' || (reading.edit === undefined && !RESPELT.has(reading.kind))) return [glob]
  const key = `${reading.kind}:${reading.edit ?? ''}:${glob}`
  const known = KNOWN.get(key)
  if (known) return known
  // A glob of a URL is also compared in lower case, because a canonical host has no capitals. An author who writes capitals means
  // the same host.
  const more = reading.kind === 'url' ? [glob.toLowerCase()] : []
  const globs = [...new Set([glob, normalGlob(glob, reading), ...more])]
  if (KNOWN.size >= KNOWN_MAX) KNOWN.clear()
  KNOWN.set(key, globs)
  return globs
}

const RESPELT: ReadonlySet<Reading['kind']> = new Set(['path', 'url', 'uuid', 'decimal', 'date', 'date-time'])

/** The most globs whose spellings (`globsFor`) are kept. The rules of several owners have fewer. */
const KNOWN_MAX = 2_000
const KNOWN = new Map<string, readonly string[]>()

function hasWildcard(glob: string): boolean {
  return /[*?]/.test(glob)
}

/**
 * The canonical spelling of a glob of a path. Some parts stay, because no other spelling has the same meaning: `..` after a
 * wildcard, a slash after a wildcard, and `./` before `**`.
 */
function normalPathGlob(glob: string): string {
  if (!hasWildcard(glob)) return normalisedPath(glob)
  const segments = glob.split('/')
  if (segments.at(-1) === '' && hasWildcard(segments.at(-2) ?? '')) return glob
  const isAbsolute = segments[0] === ''
  const kept: string[] = []
  for (const segment of segments) {
    const last = kept.at(-1)
    if (segment === '' || segment === '.') continue
    if (segment !== '..' || (last !== undefined && hasWildcard(last))) kept.push(segment)
    else if (last !== undefined && last !== '..') kept.pop()
    else if (!isAbsolute) kept.push(segment)
  }
  // This glob stays unchanged. Without its `./`, it would begin with `**` and also match absolute paths.
  if (!isAbsolute && kept[0]?.startsWith('**') && !segments[0]?.startsWith('**')) return glob
  return `${isAbsolute ? '/' : ''}${kept.join('/')}`
}

/** Matches the scheme of a URL whose host has no capitals, then the host, and then the rest. */
const START = /^((?:https?|wss?|ftp|file):\/\/)([^/]*)(\/.*)?$/is

/**
 * The canonical spelling of a glob of a URL. Without wildcards, the whole URL is spelled canonically. With wildcards, only the
 * scheme and the host are.
 */
function normalUrlGlob(glob: string): string {
  if (!hasWildcard(glob)) {
    const whole = canonicalUrl(glob)
    return typeof whole === 'string' ? glob : whole.text
  }
  const [, scheme = '', host = '', rest = ''] = START.exec(glob) ?? []
  if (scheme === '') return glob
  if (hasWildcard(host)) return `${scheme}${host}`.toLowerCase() + rest
  const start = canonicalUrl(`${scheme}${host}/`)
  return typeof start === 'string' || rest === '' ? glob : `${start.text.slice(0, -1)}${rest}`
}
