/** The state that something stored must be in: `*` any existing one, else one with one of these entity tags. */
export type Precondition = {
  readonly ifMatch?: '*' | ReadonlySet<string>
  readonly ifNoneMatch?: '*' | ReadonlySet<string>
}

/** Whether what is there keeps to it; no tag says that nothing is there. */
export function holds({ ifMatch, ifNoneMatch }: Precondition, tag: string | undefined): boolean {
  if (ifMatch && !(tag !== undefined && (ifMatch === '*' || ifMatch.has(tag)))) return false
  return !(ifNoneMatch && tag !== undefined && (ifNoneMatch === '*' || ifNoneMatch.has(tag)))
}
