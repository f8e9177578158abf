import type { TextEdit } from './text-edit.ts'

/** The kinds of arguments between which rules distinguish. docs/how-to/approve-and-forbid.md explains each of them. */
export const ARGUMENT_KINDS = [
  'path',
  'command',
  'url',
  'date',
  'date-time',
  'decimal',
  'uuid',
  'text',
  'other',
] as const
export type ArgumentKind = (typeof ARGUMENT_KINDS)[number]

/**
 * One way in which a handler may read a text: as a value of `kind`, after the edit that the handler's type makes. Two kinds are
 * special:
 *
 * - `other`: code of the module reads the text, or may read it. The text is compared unchanged, and never matches `allow`.
 * - `value`: the handler gets no text, but for example a number or a time. The argument matches `deny` and `ask`, and never
 *   `allow`.
 */
export type Reading = {
  readonly kind: ArgumentKind | 'value'
  readonly edit?: TextEdit
  /** True if the argument is read as a path only because of its name. */
  readonly isByName?: true
}

/** The kind that answers and messages show for a reading. */
export function shownKind({ kind }: Reading): ArgumentKind {
  return kind === 'value' ? 'other' : kind
}

/** The kinds that answers and messages show for an argument, the strictest first. An argument that takes no text is `other`. */
export function shownKinds(readings: readonly Reading[]): readonly ArgumentKind[] {
  const kinds = new Set(readings.map(shownKind))
  const strictestFirst = ['other' as const, ...ARGUMENT_KINDS]
  return readings.length === 0 ? ['other'] : [...new Set(strictestFirst.filter((kind) => kinds.has(kind)))]
}
