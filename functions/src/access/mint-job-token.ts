import { ToolrackError } from '@toolrack/contract'
import type { Digest, ErrorCode } from '@toolrack/contract'
import { randomUUID } from 'node:crypto'
import type { GrantedTool } from './grant.ts'
import type { SignJobToken } from './job-token.ts'
import type { Principal } from './principal.ts'

export type MintRequest = {
  readonly workflowId: string
  readonly tools: readonly GrantedTool[]
  readonly ttlSeconds: number
}

export type MintedToken = {
  readonly token: string
  /** ISO 8601, UTC. */
  readonly expiresAt: string
  /** By their canonical names. */
  readonly tools: readonly GrantedTool[]
}

/** The tools that a user has now. The view of their catalog is one. */
export type OwnedTools = {
  resolve(nameOrAlias: string): GrantedTool | undefined
  /** The layers that could not be read at all: a tool that is not found may be theirs. */
  readonly lostLayers: readonly string[]
}

/** Node refuses requests whose headers are above 16 KB; a token must leave room for the others. */
const MINTED_BYTES_MAX = 12 * 1024

/** Signs a token for a workflow that acts for the principal, with tools of their catalog as they are now. */
export async function mintJobToken(
  { uid }: Principal,
  { workflowId, tools, ttlSeconds }: MintRequest,
  parts: { readonly view: OwnedTools; readonly sign: SignJobToken; readonly now: () => number },
): Promise<MintedToken> {
  const granted = currentTools(parts.view, tools)
  const iat = Math.floor(parts.now() / 1_000)
  const exp = iat + ttlSeconds
  const claims = { sub: `wf:${workflowId}`, uid, tools: granted, jti: randomUUID(), iat, nbf: iat, exp }
  const token = await parts.sign(claims)
  if (token.length > MINTED_BYTES_MAX)
    throw new ToolrackError(
      'BODY_INVALID',
      'So many tools with such long names do not fit into one token; name fewer.',
    )
  return { token, expiresAt: new Date(exp * 1_000).toISOString(), tools: granted }
}

/** The tools by their canonical names, or an error that names every one which can't be granted. */
function currentTools(view: OwnedTools, tools: readonly GrantedTool[]): readonly GrantedTool[] {
  const granted = new Map<string, Digest>()
  const faults: Fault[] = []
  for (const [index, { name, digest }] of tools.entries()) {
    const entry = view.resolve(name)
    const fault = faultOf(view, entry, digest) ?? (entry && granted.has(entry.name) ? TWICE : undefined)
    if (fault) faults.push({ ...fault, index, pointer: `/tools/${index}/${fault.field}` })
    else if (entry) granted.set(entry.name, digest)
  }
  const [first] = faults
  if (first) throw refusal(first, faults)
  return Array.from(granted, ([name, digest]) => ({ name, digest }))
}

type Kind = { readonly reason: ErrorCode; readonly field: 'name' | 'digest'; readonly message: string }
type Fault = Kind & { readonly index: number; readonly pointer: string }

const UNKNOWN: Kind = {
  reason: 'TOOL_NOT_FOUND',
  field: 'name',
  message: 'the catalog has no tool of that name',
}
const LOST: Kind = {
  reason: 'LAYER_UNAVAILABLE',
  field: 'name',
  message: 'no layer that could be read has a tool of that name; try again',
}
const CHANGED: Kind = {
  reason: 'DIGEST_CHANGED',
  field: 'digest',
  message: "this is not the tool's present digest",
}
const TWICE: Kind = { reason: 'BODY_INVALID', field: 'name', message: 'the tool is named twice' }

function faultOf(view: OwnedTools, entry: GrantedTool | undefined, digest: Digest): Kind | undefined {
  if (entry) return entry.digest === digest ? undefined : CHANGED
  return view.lostLayers.length > 0 ? LOST : UNKNOWN
}

function refusal(first: Fault, faults: readonly Fault[]): ToolrackError {
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more, see details)` : ''
  return new ToolrackError(first.reason, `${first.pointer}: ${first.message}${more}.`, {
    details: faults.map(({ reason, index, pointer, message }) => ({ reason, index, pointer, message })),
  })
}
