import type { JsonValue } from '../json.ts'
import type { Reading } from '../kinds/argument-kind.ts'
import { isWithoutZone } from '../kinds/date-time-text.ts'
import { normalisedPath } from '../kinds/path-text.ts'
import { readText } from '../kinds/read-text.ts'
import { globsFor } from './argument-globs.ts'
import type { GlobKind } from './glob.ts'
import { comparedAlone, holds, type CompareGlob } from './rule-globs.ts'
import type { RuleEffect } from './rule-set.ts'

/**
 * The most UTF-16 code units of a text that rules compare. A longer text matches `deny` and `ask`, and never `allow`. So does an
 * argument that is not a text. The limit bounds the work.
 */
export const RULED_TEXT_LENGTH_MAX = 65_536

/** The same limit for paths. It is lower, because comparing globs of paths takes longer. macOS allows no longer path. */
export const RULED_PATH_LENGTH_MAX = 1_024

/** A text that was `sent`, and the `text` that the handler gets by one reading. `text` is undefined if this is not known. */
export type ReadText = { readonly reading: Reading; readonly sent: string; readonly text: string | undefined }

/**
 * Reads the value of an argument in all ways in which the handler may read it. Undefined if there is no value, if it is not a
 * text, or if it is a text that none of these ways accepts.
 */
export function readValue(
  value: JsonValue | undefined,
  readings: readonly Reading[],
): readonly ReadText[] | undefined {
  if (typeof value !== 'string' || value.length > RULED_TEXT_LENGTH_MAX) return undefined
  const read = readings.flatMap((reading): readonly ReadText[] => {
    const canonical = readText(reading, value)
    if (canonical === 'none') return []
    const text = canonical === 'unclear' || reading.kind === 'value' ? undefined : canonical.text
    const isLong = reading.kind === 'path' && value.length > RULED_PATH_LENGTH_MAX
    return [{ reading, sent: value, text: isLong ? undefined : text }]
  })
  if (read.length === 0) return undefined
  // If the argument has several readings and all of them change the text, the handler may also get the text unchanged.
  const isKept = read.length > 1 && read.every(({ text }) => text !== value)
  return isKept ? [...read, { reading: AS_SENT, sent: value, text: value }] : read
}

export const AS_SENT: Reading = { kind: 'text' }

/**
 * True if an argument matches the glob of a rule. If the argument is missing, is not a text, or is a text of which it is not
 * certain how the tool reads it, it matches `deny` and `ask`, and never `allow`. If a text can be read in several ways, one
 * matching way is enough for `deny` and `ask`. For `allow`, all ways must match.
 */
export function matchesArgument(
  glob: string,
  read: readonly ReadText[] | undefined,
  effect: RuleEffect,
  compare: CompareGlob = comparedAlone,
): boolean {
  if (effect === 'allow') return read?.every((one) => isAllowed(glob, one, compare)) ?? false
  return read?.some((one) => isCaught(glob, one, effect, compare)) ?? true
}

function isAllowed(glob: string, { reading, sent, text }: ReadText, compare: CompareGlob): boolean {
  const { kind } = reading
  if (text === undefined || kind === 'other') return false
  if (hasDoubt(sent, kind) || hasDoubt(text, kind)) return false
  return (
    holds(compare(glob, text, globKind(kind)), 'allow') &&
    (!isZoneless(reading, text) || holds(compare(glob, `${text}Z`, 'text'), 'allow'))
  )
}

function isCaught(
  glob: string,
  { reading, sent, text }: ReadText,
  effect: RuleEffect,
  compare: CompareGlob,
): boolean {
  if (text === undefined) return true
  const matches = (one: string, each: string, kind: GlobKind): boolean =>
    holds(compare(one, each, kind), effect)
  const globs = globsFor(glob, reading, effect)
  if (reading.kind !== 'path') {
    const texts = isZoneless(reading, text) ? [text, `${text}Z`] : [text]
    return globs.some((one) => texts.some((each) => matches(one, each, 'text')))
  }
  const paths = sent.includes('\\') ? [text, normalisedPath(sent.replaceAll('\\', '/'))] : [text]
  // A glob for everything in a folder also matches the folder itself: `deny` of `secrets/**` also denies `secrets`.
  const isDenied = (one: string, path: string): boolean =>
    matches(one, path, 'path') || (isContentOfFolder(one) && matches(one, `${path}/`, 'path'))
  return globs.some((one) => paths.some((path) => isDenied(one, path)))
}

/** True for a date-time without a time zone. Programs often read it as UTC. */
function isZoneless({ kind }: Reading, text: string): boolean {
  return kind === 'date-time' && isWithoutZone(text)
}

export function globKind(kind: Reading['kind']): GlobKind {
  return kind === 'path' ? 'path' : 'text'
}

/** Matches the characters with which a shell joins, redirects or computes commands, and control characters. */
// oxlint-disable-next-line no-control-regex -- Control characters are what the pattern looks for.
const SHELL_SYNTAX = /[;&|<>$()[\]{}`\u0000-\u0008\u000a-\u001f\u007f]/

/**
 * Matches a `\`, which separates segments on some systems, and control characters, such as NUL, which ends a path on some
 * systems.
 */
// oxlint-disable-next-line no-control-regex -- Control characters are what the pattern looks for.
const UNCLEAR_PATH = /[\\\u0000-\u001f\u007f]/

/** True if the text has characters with which it never matches an `allow`. */
export function hasDoubt(text: string, kind: Reading['kind']): boolean {
  if (kind === 'path') return UNCLEAR_PATH.test(text)
  return kind === 'command' && SHELL_SYNTAX.test(text)
}

export function isContentOfFolder(glob: string): boolean {
  return glob.endsWith('/**')
}
