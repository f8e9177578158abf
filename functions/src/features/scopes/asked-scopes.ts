import { formatScope, parseScope, scopeFaultText, ToolrackError, type ScopeFault } from '@toolrack/contract'
import type { AppliedScope } from './scope-filter.ts'
import { SCOPE_KINDS, type ScopeOwner } from './kept-scope.ts'
import { invalidParameter } from '../../http/query.ts'

/**
 * The id of an owner: printable ASCII without blanks. It must not begin with a dot, because `..` in an address leads to another
 * folder.
 */
const ID = /^(?!\.)[\x21-\x7E]{1,256}$/

export const SCOPE_OWNER_RULE = `KIND is ${SCOPE_KINDS.join(', ')}, and ID is 1 to 256 printable ASCII characters without blanks, not a dot first`

/** The owner of a stored scope. Undefined if the kind is unknown, or if the id is not allowed. */
export function scopeOwner(kind: string, id: string): ScopeOwner | undefined {
  const known = SCOPE_KINDS.find((one) => one === kind)
  return known && ID.test(id) ? { kind: known, id } : undefined
}

/** The most scopes in one query, because each scope is compared with every tool. */
const SCOPES_MAX = 8

/** The prefix of a reference to a stored scope: `ref:KIND/ID`. */
export const REF = 'ref:'

/** Reads the values of the query parameter `scope`. Throws PARAMETER_INVALID, which says where the fault is. */
export function askedScopes(texts: readonly string[]): readonly (AppliedScope | ScopeOwner)[] {
  if (texts.length > SCOPES_MAX)
    throw invalidParameter('scope', `is given ${texts.length} times; at most ${SCOPES_MAX} are allowed`)
  return texts.map(askedScope)
}

function askedScope(text: string): AppliedScope | ScopeOwner {
  const trimmed = text.trim()
  if (trimmed.startsWith(REF)) {
    const [, kind = '', id = ''] = /^([^/]*)\/?(.*)$/s.exec(trimmed.slice(REF.length)) ?? []
    const owner = scopeOwner(kind, id)
    if (owner) return owner
    throw invalidParameter('scope', `names no owner of a scope: ref:KIND/ID, in which ${SCOPE_OWNER_RULE}`)
  }
  const scope = parseScope(text)
  if (!('fault' in scope)) return { from: formatScope(scope), scope }
  const details = [{ reason: 'PARAMETER_INVALID', parameter: 'scope', position: scope.position }] as const
  throw new ToolrackError('PARAMETER_INVALID', `The parameter scope ${scopeFaultText(scope)}`, { details })
}

/** The error for a scope in a body that cannot be parsed. */
export function scopeFaultAt(pointer: string, fault: ScopeFault): ToolrackError {
  const details = [{ reason: 'BODY_INVALID', pointer, position: fault.position }] as const
  return new ToolrackError('BODY_INVALID', `The body at ${pointer}: it ${scopeFaultText(fault)}`, { details })
}

export function isOwner(scope: AppliedScope | ScopeOwner): scope is ScopeOwner {
  return 'kind' in scope
}

export function isWritten(scope: AppliedScope | ScopeOwner): scope is AppliedScope {
  return !isOwner(scope)
}
