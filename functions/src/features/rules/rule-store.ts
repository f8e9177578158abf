import { isJsonObject, type RuleOwner } from '@toolrack/contract'
import { EVERYBODY, keyOf, put, remove, type Collection, type Ref } from '../../documents/collection.ts'
import type { Documents, Version } from '../../documents/documents.ts'
import type { Test } from '../../value-shape.ts'
import type { RuleVersion } from './kept-rules.ts'

/**
 * The rule sets that are kept in one text: those for everybody, or those of one user and of the user's workflows, sessions and
 * agents.
 */
export type RuleScope = { readonly kind: 'everybody' } | { readonly kind: 'user'; readonly uid: string }

/** The scope in which the marks of definitions and rules from files are kept. There are no rules in it. */
export const MARKS = { kind: 'marks' } as const

/** A scope of rules, or the scope of the marks. */
export type TextScope = RuleScope | typeof MARKS

/**
 * The text of a scope after a change. If `text` is the text that was read, nothing is written. `version` is added to the history
 * of the owner whose rules are changed. If it is null, that history is erased.
 */
export type PlannedText<Result> = {
  readonly text: string | undefined
  readonly result: Result
  readonly version?: RuleVersion | null
}

/**
 * The rule sets of a scope, by owner. If the document is damaged, reading it is an error, because no call may run without its
 * rules.
 */
const RULES: Collection = {
  name: 'rules',
  owner: 'both',
  fields: isJsonObject,
  firestore: { path: () => ['tools', 'rules'] },
}

const FILE_MARKS: Collection = {
  name: 'marks',
  owner: 'everybody',
  fields: isJsonObject,
  firestore: { path: () => ['tools', 'marks'] },
}

/**
 * The most bytes of all versions of rules in a scope. If a write would exceed them, the rules that it writes lose their older
 * versions.
 */
const HISTORY_BYTES_MAX = 4 * 1024 * 1024
/** The most versions of the rules of one owner. A stored scope has as many. */
export const RULE_VERSIONS_MAX = 20

const HISTORY: Collection<RuleVersion> = {
  name: 'ruleVersions',
  owner: 'both',
  fields: isJsonObject as Test<RuleVersion>,
  versions: RULE_VERSIONS_MAX,
  quota: { bytes: HISTORY_BYTES_MAX },
}

/** Keeps the rule sets of each scope as one text, of at most RULES_BYTES_MAX bytes, and the versions of each rule set. */
export class RuleStore {
  readonly #documents: Documents
  /** Prepares all reads. The time for this does not count for the deadline of a read. Never rejects. */
  readonly open: Documents['open']

  constructor(documents: Documents) {
    this.#documents = documents
    this.open = documents.open
  }

  /** The text of the scope. Undefined if it has no rule sets. Rejects if the store cannot be read. */
  read = async (scope: TextScope): Promise<string | undefined> => {
    const [kept] = await this.#documents.read(ownerOf(scope), [refOf(scope)])
    return kept?.text
  }

  /**
   * Changes the text of a scope in one transaction, which may run `plan` several times. If `plan` throws, nothing is written.
   * `of` is the owner whose rules are changed.
   */
  change = <Result>(
    scope: TextScope,
    plan: (text: string | undefined) => PlannedText<Result>,
    of?: RuleOwner,
  ): Promise<Result> => {
    const to = refOf(scope)
    const history = of && historyOf(of)
    return this.#documents.change(ownerOf(scope), history ? [to, history] : [to], ([kept]) => {
      const { text, result, version } = plan(kept?.text)
      if (text === kept?.text) return { result }
      const write = text === undefined ? remove(to) : put(to, JSON.parse(text) as object)
      if (!history || version === undefined) return { result, writes: [write] }
      return { result, writes: [write, version ? put(history, version) : remove(history)] }
    })
  }

  /** The versions of an owner's rules, the newest first. */
  history = (scope: RuleScope, owner: RuleOwner): Promise<readonly Version<RuleVersion>[]> =>
    this.#documents.history(ownerOf(scope), historyOf(owner))
}

function ownerOf(scope: TextScope): string {
  return scope.kind === 'user' ? scope.uid : EVERYBODY
}

function refOf({ kind }: TextScope): Ref {
  return { of: kind === 'marks' ? FILE_MARKS : RULES, key: 'all' }
}

function historyOf(owner: RuleOwner): Ref<RuleVersion> {
  return { of: HISTORY, key: keyOf(owner) }
}
