import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts'
import type { GlobKind } from './glob.ts'
import { comparedAlone, holds, type CompareGlob } from './rule-globs.ts'
import type { RuleEffect } from './rule-set.ts'

/** The kinds of arguments that rules treat differently. */
export type ArgumentKind = 'path' | 'command' | 'text'

/** A longer text matches `deny` and `ask`, and never `allow`, as an argument that is no text. It bounds the work of a match. */
export const RULED_TEXT_LENGTH_MAX = 65_536

/** The same for paths, whose globs take longer to compare. It is the longest path of macOS. */
export const RULED_PATH_LENGTH_MAX = 1_024

/**
 * The kind of an argument. It is a path if its schema says `format: "path"`, or if its name is `src` or `dst` or ends in `path`.
 * It is a command if its schema says `format: "command"`, or if its name is `cmd` or ends in `command`.
 */
export function argumentKind(name: string, parameters: JsonObject): ArgumentKind {
  const properties = parameters['properties']
  const schema = isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined
  const format = isJsonObject(schema) ? schema['format'] : undefined
  if (format === 'path' || /^(?:src|dst)$|path$/i.test(name)) return 'path'
  return format === 'command' || /^cmd$|command$/i.test(name) ? 'command' : 'text'
}

/**
 * True if the value of an argument matches the glob of a rule. A value that is missing or no text matches for `deny` and `ask`
 * and never for `allow`. So does a text of which it is not certain what the tool makes of it.
 */
export function matchesArgument(
  glob: string,
  value: JsonValue | undefined,
  kind: ArgumentKind,
  effect: RuleEffect,
  compare: CompareGlob = comparedAlone,
): boolean {
  const isAllow = effect === 'allow'
  const matches = (text: string): boolean => holds(compare(glob, text, globKind(kind)), effect)
  const lengthMax = kind === 'path' ? RULED_PATH_LENGTH_MAX : RULED_TEXT_LENGTH_MAX
  if (typeof value !== 'string' || value.length > lengthMax) return !isAllow
  if (kind !== 'path') {
    if (isAllow && kind === 'command' && SHELL_SYNTAX.test(value)) return false
    return matches(value)
  }
  const path = normalisedPath(value)
  if (isAllow) return !UNCLEAR_PATH.test(value) && matches(path)
  // A folder belongs to its own content here: `deny` of `secrets/**` also denies `secrets`.
  const isDenied = (one: string): boolean => matches(one) || (isContentOfFolder(glob) && matches(`${one}/`))
  return isDenied(path) || (value.includes('\\') && isDenied(normalisedPath(value.replaceAll('\\', '/'))))
}

export function globKind(kind: ArgumentKind): GlobKind {
  return kind === 'path' ? 'path' : 'text'
}

/** The characters with which a shell joins, redirects or computes commands, and control characters. */
// oxlint-disable-next-line no-control-regex -- Control characters are what the pattern looks for.
const SHELL_SYNTAX = /[;&|<>$()`\u0000-\u0008\u000a-\u001f\u007f]/

/** Some systems take `\` for a separator, and end a path at NUL. */
// oxlint-disable-next-line no-control-regex -- Control characters are what the pattern looks for.
const UNCLEAR_PATH = /[\\\u0000-\u001f\u007f]/

export function isContentOfFolder(glob: string): boolean {
  return glob.endsWith('/**')
}

/** True if a text with this character never matches an `allow`. */
export function isDoubtful(character: string, kind: ArgumentKind): boolean {
  if (kind === 'text') return false
  return (kind === 'path' ? UNCLEAR_PATH : SHELL_SYNTAX).test(character)
}

/**
 * A path without `.`, empty segments and `..`, as POSIX reads it without links: `src/../etc` is `etc`. A relative path that
 * leaves its folder keeps its leading `..`. The empty path is `.`.
 */
export function normalisedPath(path: string): string {
  const kept: string[] = []
  const isAbsolute = path.startsWith('/')
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue
    if (segment !== '..') kept.push(segment)
    else if (kept.length > 0 && kept.at(-1) !== '..') kept.pop()
    else if (!isAbsolute) kept.push(segment)
  }
  const joined = kept.join('/')
  if (isAbsolute) return `/${joined}`
  return joined === '' ? '.' : joined
}
