import { ToolrackError, type Digest, type ErrorCode } from '@toolrack/contract'
import { randomUUID } from 'node:crypto'
import type { CallLimits } from '../call-limits.ts'
import { WORKFLOW, type SignJobToken } from './job-token.ts'
import type { GrantedTool, Principal } from './principal.ts'

export type MintRequest = {
  readonly workflowId: string
  readonly tools: readonly GrantedTool[]
  readonly ttlSeconds: number
  readonly limits?: CallLimits | undefined
}

/** The part of a catalog view that is needed here: it finds the present tools of a user. */
type OwnedTools = {
  resolve(nameOrAlias: string): GrantedTool | undefined
  /** The decision of the rules if they deny every call of the tool. Otherwise undefined. */
  hiddenBy?(nameOrAlias: string): { readonly reason: string } | undefined
  /** Why the tool waits for consent to its grants. Otherwise undefined. */
  whyPending?(nameOrAlias: string): string | undefined
  /** The layers that could not be read at all. A tool that is not found may be in one of them. */
  readonly lostLayers: readonly string[]
}

/** The most bytes of a token. Node refuses requests whose headers have more than 16 KB, and the other headers need room too. */
const MINTED_BYTES_MAX = 12 * 1024

/**
 * Signs a token for a workflow that acts for the principal. The token names tools of the principal's catalog, by their canonical
 * names and with their present digests. In the result, `expiresAt` is ISO 8601, UTC.
 */
export async function mintJobToken(
  { uid }: Principal,
  { workflowId, tools, ttlSeconds, limits }: MintRequest,
  parts: { readonly view: OwnedTools; readonly sign: SignJobToken; readonly now: () => number },
) {
  const granted = currentTools(parts.view, tools)
  const iat = Math.floor(parts.now() / 1_000)
  const exp = iat + ttlSeconds
  const claims = {
    sub: `${WORKFLOW}${workflowId}`,
    uid,
    tools: granted,
    jti: randomUUID(),
    ...(limits && { limits }),
    iat,
    nbf: iat,
    exp,
  }
  const token = await parts.sign(claims)
  if (token.length > MINTED_BYTES_MAX)
    throw new ToolrackError(
      'BODY_INVALID',
      'So many tools with such long names do not fit into one token; name fewer.',
    )
  return { token, expiresAt: new Date(exp * 1_000).toISOString(), tools: granted }
}

type Fault = { readonly reason: ErrorCode; readonly field: 'name' | 'digest'; readonly message: string }

/** The requested tools, under their canonical names. If some cannot be granted, throws one error that lists all of these. */
function currentTools(view: OwnedTools, tools: readonly GrantedTool[]): readonly GrantedTool[] {
  const granted = new Map<string, Digest>()
  const details = tools.flatMap(({ name, digest }, index) => {
    const entry = view.resolve(name)
    const fault = entry ? faultOf(entry, digest, granted) : whyNone(view, name)
    if (entry && !fault) granted.set(entry.name, digest)
    return fault
      ? { reason: fault.reason, index, pointer: `/tools/${index}/${fault.field}`, message: fault.message }
      : []
  })
  const [first] = details
  if (!first) return Array.from(granted, ([name, digest]) => ({ name, digest }))
  const more = details.length > 1 ? ` (and ${details.length - 1} more, see details)` : ''
  throw new ToolrackError(first.reason, `${first.pointer}: ${first.message}${more}.`, { details })
}

function faultOf(
  entry: GrantedTool,
  digest: Digest,
  granted: ReadonlyMap<string, Digest>,
): Fault | undefined {
  if (entry.digest !== digest)
    return { reason: 'DIGEST_CHANGED', field: 'digest', message: "this is not the tool's present digest" }
  if (granted.has(entry.name))
    return { reason: 'BODY_INVALID', field: 'name', message: 'the tool is named twice' }
  return undefined
}

function whyNone(view: OwnedTools, name: string): Fault {
  const { lostLayers } = view
  const pending = view.whyPending?.(name)
  if (pending !== undefined)
    return { reason: 'GRANTS_PENDING', field: 'name', message: pending.replace(/\.$/, '') }
  const decision = view.hiddenBy?.(name)
  if (decision)
    return {
      reason: 'PERMISSION_DENIED',
      field: 'name',
      message: `the tool is denied (${decision.reason.replace(/\.$/, '')})`,
    }
  if (lostLayers.length === 0)
    return { reason: 'TOOL_NOT_FOUND', field: 'name', message: 'the catalog has no tool of that name' }
  const message = 'no layer that could be read has a tool of that name; try again'
  return { reason: 'LAYER_UNAVAILABLE', field: 'name', message }
}
