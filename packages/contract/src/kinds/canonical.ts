/**
 * What reading a text as one kind results in: its canonical spelling, `none` if the text is not a value of the kind, or
 * `unclear`. `unclear` means that a handler may accept the text, but the service does not know its canonical spelling.
 */
export type Canonical = { readonly text: string } | 'none' | 'unclear'

export function spelled(text: string): Canonical {
  return { text }
}
