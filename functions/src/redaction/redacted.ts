/** Stands in place of a secret. */
export const REDACTED = '[redacted]'

/** Hears of each secret that is removed. */
export type Removed = (secret: string) => void
