/**
 * The state that something must have before it is written. `ifMatch`: it exists (`*`), or has one of these entity tags.
 * `ifNoneMatch`: it does not exist (`*`), or has none of these entity tags.
 */
export type Precondition = {
  readonly ifMatch?: '*' | ReadonlySet<string>
  readonly ifNoneMatch?: '*' | ReadonlySet<string>
}

/** True if the present entity tag fulfills the precondition. The tag is undefined if there is nothing yet. */
export function holds({ ifMatch, ifNoneMatch }: Precondition, tag: string | undefined): boolean {
  const matches = (tags: '*' | ReadonlySet<string>) => tag !== undefined && (tags === '*' || tags.has(tag))
  return (!ifMatch || matches(ifMatch)) && !(ifNoneMatch && matches(ifNoneMatch))
}
