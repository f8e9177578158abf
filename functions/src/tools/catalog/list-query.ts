import type { Dialect, NameFilter } from '@toolrack/contract'
import type { Position } from './cursor.ts'

export const ENVELOPES = ['array', 'items'] as const
export type Envelope = (typeof ENVELOPES)[number]

/** How many definitions a page may hold. */
export const PAGE_MAX = 1_000

/** What a list request asks for, parsed. */
export type ListQuery = {
  readonly names: NameFilter
  readonly tags: readonly string[]
  readonly categories: readonly string[]
  /** The vendor that the list is for; undefined for the list as it is. */
  readonly dialect: Dialect | undefined
  readonly envelope: Envelope
  readonly strict: boolean
  readonly limit: number | undefined
  readonly after: Position | undefined
}
