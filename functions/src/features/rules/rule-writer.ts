import { ToolrackError, type Digest, type RuleOwner, type RuleSet } from '@toolrack/contract'
import { holds, type Precondition } from '../../precondition.ts'
import { ownerKey, readRuleSets, ruleSetDigest, ruleSetsText, scopeOf } from './kept-rules.ts'
import { RULE_OWNERS_MAX, RULES_BYTES_MAX } from './kept-rules.ts'
import type { KeptRules, RuleSets, RuleVersion } from './kept-rules.ts'
import type { RuleBook } from './rule-book.ts'
import { marksAfter } from './rule-marks.ts'
import type { RuleScope, RuleStore } from './rule-store.ts'

type Parts = {
  readonly store: Pick<RuleStore, 'read' | 'change' | 'history'>
  readonly book: RuleBook
  readonly now: () => number
}

/** Which rules a user reads or writes. `precondition` says in which state the rules must be. */
export type RuleTarget = {
  readonly uid: string
  readonly owner: RuleOwner
  readonly precondition: Precondition
}

type Written = { readonly outcome: 'created' | 'updated' | 'unchanged' | 'deleted'; readonly digest: Digest }

/** Reads and writes the rules of owners. The caller has been authorized. */
export class RuleWriter {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async find({ uid, owner }: Omit<RuleTarget, 'precondition'>): Promise<KeptRules | undefined> {
    const text = await this.#parts.store.read(scopeOf(owner, uid))
    return readRuleSets(text).get(ownerKey(owner))
  }

  /**
   * The versions of an owner's rules that are kept, the newest first. `version` is the number of a version, beginning with 1.
   * Throws RULES_NOT_FOUND if there are no rules, and no versions of deleted rules.
   */
  async history({ uid, owner }: Omit<RuleTarget, 'precondition'>) {
    const versions = await this.#parts.store.history(scopeOf(owner, uid), owner)
    if (versions.length === 0 && !(await this.find({ uid, owner }))) throw noRules()
    return versions.map(({ version, fields }) => ({ version, ...fields }))
  }

  /** Writes the rules. Throws PRECONDITION_FAILED, or RULES_FULL if the rules do not fit into their bounds. */
  put(target: RuleTarget, set: RuleSet): Promise<Written> {
    const digest = ruleSetDigest(set)
    const updatedAt = new Date(this.#parts.now()).toISOString()
    return this.#change(target, (kept) => {
      if (kept?.digest === digest) return { kept, outcome: 'unchanged', digest }
      const outcome = kept ? 'updated' : 'created'
      const marks = marksAfter(kept, set)
      return { kept: { set, digest, updatedAt, updatedBy: target.uid, marks }, outcome, digest }
    })
  }

  /** Deletes the rules. Throws RULES_NOT_FOUND or PRECONDITION_FAILED. */
  delete(target: RuleTarget): Promise<Written> {
    return this.#change(target, (kept) => {
      if (!kept) throw noRules()
      return { kept: undefined, outcome: 'deleted', digest: kept.digest }
    })
  }

  async #change(
    { uid, owner, precondition }: RuleTarget,
    act: (kept: KeptRules | undefined) => Written & { readonly kept: KeptRules | undefined },
  ): Promise<Written> {
    const { store, book } = this.#parts
    const scope = scopeOf(owner, uid)
    const { text, ...answer } = await store.change<Written & { readonly text: string | undefined }>(
      scope,
      (before) => {
        const sets = new Map(readRuleSets(before))
        const key = ownerKey(owner)
        const present = sets.get(key)
        if (!holds(precondition, present?.digest))
          throw new ToolrackError('PRECONDITION_FAILED', NOT_IN_STATE)
        const { kept, outcome, digest } = act(present)
        if (outcome === 'unchanged') return { text: before, result: { text: before, outcome, digest } }
        sets.delete(key)
        if (kept) sets.set(key, kept)
        const after = boundedText(scope, sets)
        const version = kept ? versionOf(kept) : this.#deletion(uid, owner)
        return { text: after, version, result: { text: after, outcome, digest } }
      },
      owner,
    )
    book.written(scope, text)
    return answer
  }

  /**
   * The version that is added when rules are deleted. For workflows, sessions and agents it is null, which erases the history.
   * Over time there can be any number of these owners, so their histories would grow without limit.
   */
  #deletion(uid: string, { kind }: RuleOwner): RuleVersion | null {
    if (kind !== 'everybody' && kind !== 'user') return null
    const updatedAt = new Date(this.#parts.now()).toISOString()
    return { set: null, digest: null, updatedAt, updatedBy: uid }
  }
}

function versionOf({ set, digest, updatedAt, updatedBy }: KeptRules): RuleVersion {
  return { set, digest, updatedAt, updatedBy }
}

const NOT_IN_STATE = 'The rules are not in the state the request asks for.'

export function noRules(): ToolrackError {
  return new ToolrackError('RULES_NOT_FOUND')
}

function boundedText(scope: RuleScope, sets: RuleSets): string | undefined {
  if (scope.kind === 'user' && sets.size > RULE_OWNERS_MAX)
    throw new ToolrackError(
      'RULES_FULL',
      `A user may have rules of ${RULE_OWNERS_MAX} owners; delete some first.`,
    )
  const text = ruleSetsText(sets)
  if (text !== undefined && Buffer.byteLength(text) > RULES_BYTES_MAX)
    throw new ToolrackError(
      'RULES_FULL',
      `The rules would have more than ${RULES_BYTES_MAX} bytes; delete some first.`,
    )
  return text
}
