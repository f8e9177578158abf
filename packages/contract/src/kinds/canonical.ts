/**
 * What one kind makes of a text: its canonical spelling; `none` for a text that is no value of the kind; `unclear` for a text that
 * a handler may read as one, of which the service does not know the canonical spelling.
 */
export type Canonical = { readonly text: string } | 'none' | 'unclear'

export function spelled(text: string): Canonical {
  return { text }
}
