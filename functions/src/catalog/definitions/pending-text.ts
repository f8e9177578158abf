import type { Digest } from '@toolrack/contract'

/**
 * How the stored text of a definition ends whose grants wait for consent. The member is the last one, so that it can be added and
 * removed without parsing the definition. In JSON, no other text can end like this, because a quote within a text is escaped.
 */
const ENDING = /^,"pendingGrants":"sha256:[0-9a-f]{64}"\}$/
const ENDING_LENGTH = ',"pendingGrants":"sha256:"}'.length + 64

/** The stored text of a definition that waits for consent to these grants, or that waits for nothing. */
export function withPending(text: string, digest: Digest | undefined): string {
  const definition = withoutPending(text)
  return digest === undefined ? definition : `${definition.slice(0, -1)},"pendingGrants":"${digest}"}`
}

/** The text of the definition itself. */
export function withoutPending(text: string): string {
  return isPending(text) ? `${text.slice(0, -ENDING_LENGTH)}}` : text
}

/** True if the stored text is that of a definition that waits for consent. */
export function isPending(text: string): boolean {
  return ENDING.test(text.slice(-ENDING_LENGTH))
}
