/**
 * The result of reading a text as one kind: its canonical spelling, or one of these:
 *
 * - `none`: the text is not a value of the kind.
 * - `unclear`: a handler may read the text as a value of the kind, but the service does not know its canonical spelling.
 */
export type Canonical = { readonly text: string } | 'none' | 'unclear'

export function spelled(text: string): Canonical {
  return { text }
}
