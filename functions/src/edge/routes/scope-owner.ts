import { SCOPE_KINDS, type ScopeOwner } from '../../tools/scopes/scope-store.ts'

/** Printable ASCII without blanks. A first dot could be a step to another folder in an address. */
const ID = /^(?!\.)[\x21-\x7E]{1,256}$/

export const SCOPE_OWNER_RULE = `KIND is ${SCOPE_KINDS.join(', ')}, and ID is 1 to 256 printable ASCII characters without blanks, not a dot first`

/** The owner of a stored scope. Undefined if there is no such kind, or if the id is not allowed. */
export function scopeOwner(kind: string, id: string): ScopeOwner | undefined {
  const known = SCOPE_KINDS.find((one) => one === kind)
  return known && ID.test(id) ? { kind: known, id } : undefined
}
