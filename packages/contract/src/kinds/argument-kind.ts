import type { TextEdit } from './text-edit.ts'

/** The kinds of arguments that rules treat differently. What each means for a rule is in docs/how-to/approve-and-forbid.md. */
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
 * One way in which a handler may read a text: as a value of a kind, after an edit that its type makes.
 *
 * - `other`: code of the module reads it, or may read it. It is compared as it comes, and never matches `allow`.
 * - `value`: the handler gets no text, but a number, a time or the like. It matches `deny` and `ask`, and never `allow`.
 */
export type Reading = {
  readonly kind: ArgumentKind | 'value'
  readonly edit?: TextEdit
  /** True if only the name of the argument says that it is a path. */
  readonly isByName?: true
}

/** The kind of a reading as it is shown. */
export function shownKind({ kind }: Reading): ArgumentKind {
  return kind === 'value' ? 'other' : kind
}

/** The kinds of an argument as they are shown, the strictest first. An argument that takes no text is `other`. */
export function shownKinds(readings: readonly Reading[]): readonly ArgumentKind[] {
  const kinds = new Set(readings.map(shownKind))
  const strictestFirst = ['other' as const, ...ARGUMENT_KINDS]
  return readings.length === 0 ? ['other'] : [...new Set(strictestFirst.filter((kind) => kinds.has(kind)))]
}
