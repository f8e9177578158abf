import type { Digest } from '@toolrack/contract'

/** How the stored text of a definition begins that waits for consent. A definition that a user writes cannot have this member. */
const BEGINNING = /^\{"pendingGrants":"sha256:[0-9a-f]{64}",/
const BEGINNING_LENGTH = '{"pendingGrants":"sha256:",'.length + 64

/**
 * The stored text of a definition that waits for consent to these grants. Without `digest`, the text of one that waits for
 * nothing.
 */
export function withPending(text: string, digest: Digest | undefined): string {
  const definition = withoutPending(text)
  return digest === undefined ? definition : `{"pendingGrants":"${digest}",${definition.slice(1)}`
}

/** The text of the definition itself. */
export function withoutPending(text: string): string {
  return isPending(text) ? `{${text.slice(BEGINNING_LENGTH)}` : text
}

/** True if the stored text is that of a definition that waits for consent. */
export function isPending(text: string): boolean {
  return BEGINNING.test(text.slice(0, BEGINNING_LENGTH))
}
