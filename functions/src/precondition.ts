/**
 * The state that something must have before it is written. `ifMatch`: it exists (`*`), or has one of these entity tags.
 * `ifNoneMatch`: it does not exist (`*`), or has none of these entity tags.
 */
export type Precondition = {
  readonly ifMatch?: '*' | ReadonlySet<string>
  readonly ifNoneMatch?: '*' | ReadonlySet<string>
}

/**
 * True if the present entity tag fulfills the precondition. The tag is undefined if there is nothing yet. `less` is a tag of the
 * same thing that changes less often. It counts like the first one.
 */
export function holds(
  { ifMatch, ifNoneMatch }: Precondition,
  tag: string | undefined,
  less: string | undefined = tag,
): boolean {
  const matches = (tags: '*' | ReadonlySet<string>) =>
    tag !== undefined && (tags === '*' || tags.has(tag) || (less !== undefined && tags.has(less)))
  return (!ifMatch || matches(ifMatch)) && !(ifNoneMatch && matches(ifNoneMatch))
}
