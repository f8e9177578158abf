/** The use of one user's tools, as it is kept. `text` is what `usageText` writes. */
export type KeptUsage = {
  /** The UTC day for which it holds, such as `2026-03-31`. */
  readonly day: string
  readonly text: string
}

/** Keeps the newest use of each user. Every store passes `test/support/usage-store.contract.ts`. */
export interface UsageStore {
  read(uid: string): Promise<KeptUsage | undefined>
  /**
   * Keeps the use, unless that of the same day or of a later one is kept. Returns what is kept then. So all instances agree about a
   * day, whichever of them counts first.
   */
  keepFirst(uid: string, usage: KeptUsage): Promise<KeptUsage>
}
