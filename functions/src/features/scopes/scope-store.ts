/** Whose stored scope it is. */
export const SCOPE_KINDS = ['room', 'session', 'agent', 'workflow'] as const
export type ScopeOwner = { readonly kind: (typeof SCOPE_KINDS)[number]; readonly id: string }

/** What a user has stored: how many scopes, and the UTF-8 bytes of their texts. */
export type ScopeTotals = { readonly scopes: number; readonly bytes: number }

/** What a change makes of the text of a scope. If `text` is the text that was read, nothing is written. */
export type PlannedScope<Result> = { readonly text: string | undefined; readonly result: Result }

/**
 * Keeps the scopes of each user, one text for each owner. It knows nothing of their meaning. Every store passes
 * `test/support/scope-store.contract.ts`.
 */
export type ScopeStore = {
  /** Undefined if the owner has no scope. Rejects with STORE_FAILED or STORE_BUSY. */
  readonly read: (uid: string, owner: ScopeOwner) => Promise<string | undefined>
  /** All of a user's scopes, in no order. */
  readonly all: (uid: string) => Promise<readonly { readonly owner: ScopeOwner; readonly text: string }[]>
  /**
   * Changes the text of one owner in one transaction, which may run `plan` several times. `totals` are those before the change. If
   * `plan` throws, nothing is written.
   */
  readonly change: <Result>(
    uid: string,
    owner: ScopeOwner,
    plan: (text: string | undefined, totals: ScopeTotals) => PlannedScope<Result>,
  ) => Promise<Result>
}
