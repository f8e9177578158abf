import { put, remove, type Collection, type Ref } from '../../documents/collection.ts'
import type { Documents } from '../../documents/documents.ts'
import { listOf, object, type Test } from '../../value-shape.ts'
import { isJsonObject } from '@toolrack/contract'
import { APPROVAL_MS, ARGUMENTS_KEPT_MS, eraseAtMs, type Approval } from './approval.ts'

/**
 * The approvals of a user after a change, and the arguments that are stored or erased with it. Without `change`, nothing is
 * written.
 */
export type PlannedApprovals<Result> = {
  readonly result: Result
  readonly change?: {
    readonly approvals: readonly Approval[]
    /** The text of the arguments of one approval. It may be sealed. */
    readonly put?: { readonly id: string; readonly text: string }
    /** The ids of the approvals whose arguments are erased. */
    readonly dropped?: readonly string[]
  }
}

type All = { readonly approvals: readonly Approval[] }

/**
 * How many milliseconds a caller waits for the store. The times are shorter than for other documents, because calls wait for
 * approvals.
 */
const WAIT_MS = { read: 2_000, change: 5_000 } as const

/** All approvals of a user are in one document, so that one transaction on it decides between two calls. */
const APPROVALS: Collection<All> = {
  name: 'approvals',
  owner: 'user',
  fields: object<All>({ approvals: listOf(isJsonObject as Test<Approval>) }),
  // The document expires later than its approvals. So the next change still reads them, and erases their arguments too.
  expires: ({ approvals }) => later(eraseAtMs(approvals)),
  waitMs: WAIT_MS,
}
const ALL: Ref<All> = { of: APPROVALS, key: 'all' }

function later(endMs: number | null): number | null {
  return endMs === null ? null : endMs + APPROVAL_MS
}

type End = { readonly eraseAtMs: number }

/** The arguments of approvals. They have their own documents, because they are larger. */
const ARGUMENTS: Collection<End> = {
  name: 'approvalArguments',
  owner: 'user',
  fields: object<End>({ eraseAtMs: (value) => typeof value === 'number' }),
  expires: (end) => end.eraseAtMs,
  hasBody: true,
  waitMs: WAIT_MS,
}

/** Keeps the approvals of each user, the oldest first, at most APPROVALS_MAX. `Approvals` has the rules about them. */
export class ApprovalStore {
  readonly #documents: Documents

  constructor(documents: Documents) {
    this.#documents = documents
  }

  read = async (uid: string): Promise<readonly Approval[]> => {
    const [kept] = await this.#documents.read(uid, [ALL])
    return kept?.fields.approvals ?? []
  }

  /** The text of an approval's arguments as it was put. Undefined when ARGUMENTS_KEPT_MS have passed since then. */
  arguments = async (uid: string, id: string): Promise<string | undefined> => {
    const [kept] = await this.#documents.read(uid, [argumentsOf(id)])
    return kept?.body
  }

  /** Reads and changes a user's approvals in one transaction, which may run `plan` several times. */
  change = <Result>(
    uid: string,
    nowMs: number,
    plan: (approvals: readonly Approval[]) => PlannedApprovals<Result>,
  ): Promise<Result> =>
    this.#documents.change(uid, [ALL], ([kept]) => {
      const { result, change } = plan(kept?.fields.approvals ?? [])
      if (!change) return { result }
      const { approvals, put: added, dropped = [] } = change
      const end = { eraseAtMs: nowMs + ARGUMENTS_KEPT_MS }
      return {
        result,
        writes: [
          approvals.length === 0 ? remove(ALL) : put(ALL, { approvals }),
          ...dropped.map((id) => remove(argumentsOf(id))),
          ...(added ? [put(argumentsOf(added.id), end, added.text)] : []),
        ],
      }
    })
}

function argumentsOf(id: string): Ref<End> {
  return { of: ARGUMENTS, key: id }
}
