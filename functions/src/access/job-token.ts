import { isJsonObject, isToolName, type Digest, type JsonValue } from '@toolrack/contract'
import { readCallLimits, type CallLimits } from '../call-limits.ts'
import { tokenInvalid } from './authenticate.ts'
import type { Claims } from './claims.ts'
import { grantOf, isUid, type GrantedTool, type TokenJob } from './principal.ts'

/** The issuer, audience and type that distinguish a job token from every other token. */
export const JOB_TOKEN = { issuer: 'toolrack', audience: 'toolrack-jobs', typ: 'job+jwt' } as const

/** The lifetime of a job token in seconds: by default, and at most. */
export const JOB_TOKEN_SECONDS = { standard: 300, max: 600 } as const
/** The most tools that a job token may name. With names of up to 40 characters, the token still fits into a header. */
export const JOB_TOKEN_TOOLS_MAX = 64

/** The claims of a job token, without its issuer and audience. Times are in seconds. */
export type JobTokenClaims = {
  readonly sub: string
  readonly uid: string
  readonly tools: readonly GrantedTool[]
  readonly jti: string
  readonly limits?: CallLimits | undefined
  readonly iat: number
  readonly nbf: number
  readonly exp: number
}

/** In the claim `sub` of a job token, this text comes before the id of the workflow. */
export const WORKFLOW = 'wf:'

/** Signs the claims of a job token. Rejects with KEYS_UNAVAILABLE. */
export type SignJobToken = (claims: JobTokenClaims) => Promise<string>

/** The principal of a verified job token. Throws TOKEN_INVALID if a claim does not have the form that this service writes. */
export function tokenJob({ sub, uid, tools, jti, nbf, exp, limits: sent }: Claims): TokenJob {
  const isWhole = sub.startsWith(WORKFLOW) && typeof jti === 'string' && typeof nbf === 'number'
  const isTools = Array.isArray(tools) && tools.length >= 1 && tools.length <= JOB_TOKEN_TOOLS_MAX
  if (!isWhole || !isUid(uid) || !isTools || !tools.every(isGrantedTool)) throw tokenInvalid()
  const limits = sent === undefined ? undefined : readCallLimits(sent as JsonValue)
  if (limits && 'fault' in limits) throw tokenInvalid()
  const workflowId = sub.slice(WORKFLOW.length)
  const limited = limits && { tokenId: jti, limits }
  const named = { grant: grantOf(tools), workflowId, endsAtMs: exp * 1_000 }
  return { kind: 'job', uid, isAdmin: false, ...named, ...(limited && { limited }) }
}

const WORKFLOW_ID = /^[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,255}$/

export const WORKFLOW_ID_RULE = 'must be 1 to 256 letters, digits, _ . : / @ or -, a letter or digit first'

export function isWorkflowId(value: unknown): value is string {
  return typeof value === 'string' && WORKFLOW_ID.test(value)
}

export function isDigest(value: unknown): value is Digest {
  return typeof value === 'string' && /^sha256:[0-9a-f]{64}$/.test(value)
}

function isGrantedTool(value: unknown): value is GrantedTool {
  if (!isJsonObject(value)) return false
  const { name, digest } = value
  return typeof name === 'string' && isToolName(name) && isDigest(digest)
}
