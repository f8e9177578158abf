/** Whose rule sets are kept together: those for everybody, or those of one user and of this user's workflows. */
export type RuleScope = { readonly kind: 'everybody' } | { readonly kind: 'user'; readonly uid: string }

/** The scope of what marks definitions and rules that come from files. It has no rules. */
export const MARKS = { kind: 'marks' } as const

/** What a store keeps a text for. */
export type TextScope = RuleScope | typeof MARKS

/** What a change makes of the text of a scope. If `text` is the text that was read, nothing is written. */
export type PlannedText<Result> = { readonly text: string | undefined; readonly result: Result }

/**
 * Keeps the rule sets of each scope as one text, of at most RULES_BYTES_MAX bytes. Every store passes
 * `test/support/rule-store.contract.ts`.
 */
export type RuleStore = {
  /** Prepares all reads, for example loads a client. Does not count against the deadline of a read. Never rejects. */
  readonly open?: () => Promise<void>
  /** The text of the scope. Undefined if it has no rule sets. Rejects if the store cannot be read. */
  readonly read: (scope: TextScope) => Promise<string | undefined>
  /** Changes the text in one transaction, which may run `plan` several times. If `plan` throws, nothing is written. */
  readonly change: <Result>(
    scope: TextScope,
    plan: (text: string | undefined) => PlannedText<Result>,
  ) => Promise<Result>
}
