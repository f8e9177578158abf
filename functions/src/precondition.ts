/**
 * The required state of a record. `ifMatch`: the record exists (`*`), or has one of these entity tags. `ifNoneMatch`: the record
 * does not exist (`*`), or has none of these entity tags.
 */
export type Precondition = {
  readonly ifMatch?: '*' | ReadonlySet<string>
  readonly ifNoneMatch?: '*' | ReadonlySet<string>
}

/** True if a record with this tag fulfills the precondition. An undefined tag means that there is no record. */
export function holds({ ifMatch, ifNoneMatch }: Precondition, tag: string | undefined): boolean {
  const matches = (tags: '*' | ReadonlySet<string>) => tag !== undefined && (tags === '*' || tags.has(tag))
  return (!ifMatch || matches(ifMatch)) && !(ifNoneMatch && matches(ifNoneMatch))
}
