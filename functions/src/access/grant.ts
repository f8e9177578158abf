import type { Digest } from '@toolrack/contract'
import { createHash } from 'node:crypto'

export type GrantedTool = { readonly name: string; readonly digest: Digest }

/** Which tools, at which digests, may be seen: nothing else of a catalog is. */
export type Grant = {
  /** Equal for equal grants, whatever their order. */
  readonly id: string
  readonly tools: ReadonlyMap<string, Digest>
}

export function grantOf(tools: readonly GrantedTool[]): Grant {
  const sorted = tools.map(({ name, digest }) => `${name}@${digest}`).toSorted()
  return {
    id: createHash('sha256').update(sorted.join('\n')).digest('base64url').slice(0, 22),
    tools: new Map(tools.map(({ name, digest }) => [name, digest])),
  }
}
