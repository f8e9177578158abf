/** The text that replaces a secret. */
export const REDACTED = '[redacted]'

/** Called with each secret that is removed. */
export type Removed = (secret: string) => void
