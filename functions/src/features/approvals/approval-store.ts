import type { Approval } from './approval.ts'

/** The approvals of a user after a change, and the arguments that are stored or erased with it. Without `change` nothing is written. */
export type PlannedApprovals<Result> = {
  readonly result: Result
  readonly change?: {
    readonly approvals: readonly Approval[]
    /** The text of an approval's arguments, which may be sealed. */
    readonly put?: { readonly id: string; readonly text: string }
    /** The ids of approvals that are no longer kept. */
    readonly dropped?: readonly string[]
  }
}

/**
 * Keeps the approvals of each user, the oldest first, of which there are at most APPROVALS_MAX. It knows nothing of their meaning.
 * Every store passes `test/support/approval-store.contract.ts`.
 */
export type ApprovalStore = {
  /** Rejects with STORE_FAILED or STORE_BUSY. */
  readonly read: (uid: string) => Promise<readonly Approval[]>
  /**
   * The text of an approval's arguments as it was put. Undefined if there is none, and from ARGUMENTS_KEPT_MS after it was put. The
   * store erases it soon after that time.
   */
  readonly arguments: (uid: string, id: string, nowMs: number) => Promise<string | undefined>
  /**
   * Reads and changes a user's approvals in one transaction, which may run `plan` several times. If `plan` throws, nothing is
   * written. `nowMs` is the present time: the store may erase what other users have no more use for.
   */
  readonly change: <Result>(
    uid: string,
    nowMs: number,
    plan: (approvals: readonly Approval[]) => PlannedApprovals<Result>,
  ) => Promise<Result>
}
