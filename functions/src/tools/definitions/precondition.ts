/** The state that a record must have: `*` means that it exists, otherwise it has one of these entity tags. */
export type Precondition = {
  readonly ifMatch?: '*' | ReadonlySet<string>
  readonly ifNoneMatch?: '*' | ReadonlySet<string>
}

/** True if a record with this tag keeps to it. Undefined means that there is no record. */
export function holds({ ifMatch, ifNoneMatch }: Precondition, tag: string | undefined): boolean {
  if (ifMatch && !(tag !== undefined && (ifMatch === '*' || ifMatch.has(tag)))) return false
  return !(ifNoneMatch && tag !== undefined && (ifNoneMatch === '*' || ifNoneMatch.has(tag)))
}
