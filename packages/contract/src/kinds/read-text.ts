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

/** How often an edit and a kind are applied in turn. A path that is normalised may begin with white space again. */
const TURNS_MAX = 8

/** The canonical spelling of a text that is read in this way. Read again, it stays the same. */
export function readText({ kind, edit }: Reading, text: string): Canonical {
  const canonical = CANONICAL[kind]
  if (edit === undefined) return canonical(text)
  let read = text
  for (let turn = 0; turn < TURNS_MAX; turn += 1) {
    const cut = edited(edit, read)
    const next = typeof cut === 'string' ? cut : canonical(cut.text)
    if (typeof next === 'string') return next
    if (next.text === read) return next
    read = next.text
  }
  return 'unclear'
}
