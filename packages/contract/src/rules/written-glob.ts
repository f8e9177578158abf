import { shownKind, type ArgumentKind, type Reading } from '../kinds/argument-kind.ts'
import { normalGlob } from './argument-globs.ts'
import { mayMatch } from './argument-values.ts'
import type { RuleEffect } from './rule-set.ts'

/**
 * The glob of a rule as it is stored, or the reason why it can match nothing. The reason is a sentence that follows the place of
 * the glob.
 */
export type WrittenGlob = { readonly glob: string } | { readonly never: string }

/**
 * Finds the spelling in which a glob for an argument is stored. `readings` tell how the tools of the rule read the argument. If
 * all readings have the same canonical spelling of the glob, this spelling is stored. Otherwise each comparison uses the spelling
 * for its kind.
 */
export function writtenGlob(glob: string, effect: RuleEffect, readings: readonly Reading[]): WrittenGlob {
  const forms = readings.map((reading) => normalGlob(glob, reading))
  const isPossible = readings.some((reading, at) => {
    const form = forms[at] ?? glob
    return !(reading.kind === 'path' && isNoPath(form)) && mayMatch(form, reading, effect)
  })
  const [reading] = readings
  if (reading && !isPossible) return { never: `can never match ${RULES[shownKind(reading)]}` }
  const [form = glob] = forms
  return { glob: forms.every((one) => one === form) ? form : glob }
}

/**
 * True for a glob with a segment that no canonical path has, such as `./**`. It could match only the folder itself, which its
 * author does not mean.
 */
function isNoPath(glob: string): boolean {
  if (glob === '.' || glob === '/') return false
  return glob.split('/').some((segment, at) => segment === '.' || (segment === '' && at > 0))
}

const RULES: Readonly<Record<ArgumentKind, string>> = {
  path: 'a path: rules compare it without ".", empty segments, ".." behind a name and a slash at its end',
  command: 'a command',
  url: 'a URL: rules compare the whole of it, such as https://example.com/',
  date: 'a date: rules compare it as 2026-01-02',
  'date-time': 'a date with a time: rules compare it as 2026-01-02T03:04:05Z, in UTC',
  decimal: 'a decimal number: rules compare it as 12.5, without exponent and needless zeros',
  uuid: 'a UUID: rules compare it as 123e4567-e89b-42d3-a456-426614174000',
  text: 'a text',
  other: 'a value of its type',
}
