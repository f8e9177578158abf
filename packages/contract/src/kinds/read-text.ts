import type { Reading } from './argument-kind.ts'
import { spelled, type Canonical } from './canonical.ts'
import { canonicalDateTime } from './date-time-text.ts'
import { canonicalDate } from './date-text.ts'
import { canonicalDecimal } from './decimal-text.ts'
import { normalisedPath } from './path-text.ts'
import { edited } from './text-edit.ts'
import { canonicalUrl } from './url-text.ts'
import { canonicalUuid } from './uuid-text.ts'

const CANONICAL: Readonly<Record<Reading['kind'], (text: string) => Canonical>> = {
  path: (text) => spelled(normalisedPath(text)),
  command: spelled,
  url: canonicalUrl,
  date: canonicalDate,
  'date-time': canonicalDateTime,
  decimal: canonicalDecimal,
  uuid: canonicalUuid,
  text: spelled,
  other: spelled,
  value: spelled,
}

/** The canonical spelling of a text that the handler reads in this way. */
export function readText({ kind, edit }: Reading, text: string): Canonical {
  const cut = edit === undefined ? spelled(text) : edited(edit, text)
  return typeof cut === 'string' ? cut : CANONICAL[kind](cut.text)
}
