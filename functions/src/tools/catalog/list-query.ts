import type { Dialect, NameFilter } from '@toolrack/contract'
import type { Position } from './cursor.ts'

export const ENVELOPES = ['array', 'items'] as const
export type Envelope = (typeof ENVELOPES)[number]

/** How many definitions a page may hold. */
export const PAGE_MAX = 1_000

/** How many different tags, and how many different categories, a list may be narrowed to. */
export const FILTER_VALUES_MAX = 50

/** What a list request asks for, parsed. */
export type ListQuery = {
  readonly names: NameFilter
  readonly tags: ReadonlySet<string>
  readonly categories: ReadonlySet<string>
  /** The vendor that the list is for; undefined for the list as it is. */
  readonly dialect: Dialect | undefined
  readonly envelope: Envelope
  readonly strict: boolean
  readonly limit: number | undefined
  readonly after: Position | undefined
}
