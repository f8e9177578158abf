import type { Authorised } from '../../calls/call.ts'
import { CALL_LIMITS_MAX, type CallLimits } from '../../call-limits.ts'
import type { OwnerLimits } from './owner-limits.ts'

/** The owners of limits, as headers name them. */
type LimitName = 'user' | 'tool' | 'workflow' | 'token'

/** One number that bounds a call. */
export type AppliedLimit = {
  readonly name: LimitName
  /** Names the bucket, or the places, among those of the user. */
  readonly key: string
  readonly max: number
  /** Whom the limit counts, and who has set it: the middle of a sentence. */
  readonly says: string
}

/** The limits that bound a call: of calls a minute, and of calls at once. */
export type AppliedLimits = {
  readonly rates: readonly AppliedLimit[]
  readonly atOnce: readonly AppliedLimit[]
}

type Parts = { readonly owners: Pick<OwnerLimits, 'of'>; readonly usual: CallLimits }

/**
 * Finds the limits that bound a call. All of them count for the caller's user alone, so no user and no author can use up the calls
 * of another. Not a promise unless an owner calls for the first time.
 */
export function limitsOfCall(call: Authorised, parts: Parts): AppliedLimits | Promise<AppliedLimits> {
  const { uid, workflowId } = call.principal
  const ofUser = parts.owners.of({ kind: 'user', id: uid })
  const ofWorkflow =
    workflowId === undefined ? undefined : parts.owners.of({ kind: 'workflow', id: workflowId })
  return ofUser instanceof Promise || ofWorkflow instanceof Promise
    ? Promise.all([ofUser, ofWorkflow]).then(([user, workflow]) => applied(call, parts.usual, user, workflow))
    : applied(call, parts.usual, ofUser, ofWorkflow)
}

function applied(
  { principal, entry, limits }: Authorised,
  usual: CallLimits,
  ofUser: CallLimits | undefined,
  ofWorkflow: CallLimits | undefined,
): AppliedLimits {
  const rates: AppliedLimit[] = []
  const atOnce: AppliedLimit[] = []
  function add(name: LimitName, key: string, values: CallLimits, says: string): void {
    const { callsPerMinute, concurrent } = values
    if (callsPerMinute !== undefined) rates.push({ name, key, max: callsPerMinute, says })
    if (concurrent !== undefined) atOnce.push({ name, key, max: concurrent, says })
  }
  // What the admins have set for a user replaces the operator's limits, key by key. So admins can also give a user more.
  add('user', 'user', without(usual, ofUser), BY_OPERATOR)
  if (ofUser) add('user', 'user', ofUser, BY_ADMIN)
  const ofTool = toolLimits(limits)
  // A user who writes a tool of the same name changes nothing about what is left of the tool of the layer below.
  const toolKey = `tool ${entry.layer} ${entry.name}`
  if (ofTool) add('tool', toolKey, ofTool, `of ${entry.name} for each user, set by its definition`)
  const { workflowId } = principal
  const { limited } = principal.grant ? principal : { limited: undefined }
  if (limited) add('token', `token ${limited.tokenId}`, limited.limits, 'of this job token')
  if (ofWorkflow && workflowId !== undefined)
    add('workflow', `workflow ${workflowId}`, ofWorkflow, `of your jobs of this workflow, set by an admin`)
  return { rates, atOnce }
}

const BY_OPERATOR = 'for each user, set by the operator'
const BY_ADMIN = 'for you, set by an admin'

function without(usual: CallLimits, own: CallLimits | undefined): CallLimits {
  return {
    callsPerMinute: own?.callsPerMinute === undefined ? usual.callsPerMinute : undefined,
    concurrent: own?.concurrent === undefined ? usual.concurrent : undefined,
  }
}

/** The limits of a definition. A value that a store of an earlier version has kept unchecked bounds nothing. */
function toolLimits(limits: Authorised['limits']): CallLimits | undefined {
  const { callsPerMinute, concurrent } = limits
  if (callsPerMinute === undefined && concurrent === undefined) return undefined
  return {
    callsPerMinute: bounded(callsPerMinute, CALL_LIMITS_MAX.callsPerMinute),
    concurrent: bounded(concurrent, CALL_LIMITS_MAX.concurrent),
  }
}

function bounded(limit: unknown, max: number): number | undefined {
  return typeof limit === 'number' && limit >= 1 ? Math.min(Math.floor(limit), max) : undefined
}
