import { ToolrackError, type Layer, type RuleOwner } from '@toolrack/contract'
import type { Action, Principal } from './principal.ts'

/** Whether an action is allowed, and if not, the reason for the caller. */
export type Decision = { readonly allowed: true } | { readonly allowed: false; readonly reason: string }

/** Decides whether a principal may do an action. `maySee` decides which tools of a catalog are visible and can be called. */
export function decide(principal: Principal, action: Action): Decision {
  const { kind, isAdmin, grant, mayApprove } = principal
  if (action.verb === 'read' || action.verb === 'call') return ALLOWED
  if (grant) return deny(WHY_NOT_BY_JOB_TOKEN[action.verb])
  if ('layer' in action) return decideOnLayer(isAdmin, action)
  if ('owner' in action) return decideOnRules(principal, action)
  if (action.verb === 'read-audit' || action.verb === 'verify-audit' || action.verb === 'erase-audit')
    return decideOnAudit(principal, action)
  const { verb } = action
  if (verb === 'simulate')
    return kind === 'user' ? ALLOWED : deny('Only a user may simulate calls, not a job.')
  if (verb === 'read-versions' || verb === 'write-agents') return ALLOWED
  if (verb === 'read-scopes' || verb === 'write-scopes') return ALLOWED
  if (verb === 'refresh') return isAdmin ? ALLOWED : deny('Only an admin may refresh the folder of modules.')
  if (verb === 'read-approvals')
    return kind === 'user' ? ALLOWED : deny('Only a user may read approvals, not a job.')
  if (verb === 'read-sessions' || verb === 'write-sessions') return ALLOWED
  if (verb === 'govern') return decideOnGoverning(kind === 'user', mayApprove === true)
  // A new verb does not compile until it has its own decision above.
  verb satisfies 'mint'
  return kind === 'user' ? ALLOWED : deny('Only a user may mint job tokens, not a job.')
}

function decideOnGoverning(isUser: boolean, mayApprove: boolean): Decision {
  if (!isUser) return deny(NO_JOB_GOVERNS)
  return mayApprove ? ALLOWED : deny(NOT_AN_APPROVER)
}

function decideOnRules(
  { kind, uid, isAdmin, mayApprove }: Principal,
  { verb, owner, id }: Extract<Action, { owner: unknown }>,
): Decision {
  if (kind !== 'user') return deny('Only a user may read and write rules, not a job.')
  if (verb === 'write-rules' && !mayApprove) return deny(NOT_AN_APPROVER)
  if (isAdmin || OWN_KINDS.has(owner) || (owner === 'user' && id === uid)) return ALLOWED
  return deny(
    `Only an admin may read and write the rules ${owner === 'everybody' ? 'for everybody' : 'of another user'}.`,
  )
}

/** Rules of these owners are kept with the user who writes them, and apply to that user's calls only. */
const OWN_KINDS = new Set<RuleOwner['kind']>(['workflow', 'session', 'agent'])

function decideOnAudit({ kind, isAdmin, uid, mayApprove }: Principal, action: AuditAction): Decision {
  if (kind !== 'user') return deny('Only a user may read the audit trail, not a job.')
  // Who holds the token that models get must not remove what the records say of them.
  if (isAdmin) return action.verb === 'erase-audit' && !mayApprove ? deny(NOT_AN_APPROVER) : ALLOWED
  if (action.verb !== 'read-audit') return deny('Only an admin may verify or erase the audit trail.')
  return action.uid === undefined || action.uid === uid
    ? ALLOWED
    : deny("Only an admin may read others' records.")
}

type AuditAction =
  Extract<Action, { readonly verb: 'read-audit' }> | { readonly verb: 'verify-audit' | 'erase-audit' }

function decideOnLayer(isAdmin: boolean, { verb, layer }: Extract<Action, { layer: Layer }>): Decision {
  if (verb === 'write' && layer === 'file')
    return deny('The file layer is changed by editing its files, not through the service.')
  if (layer === 'user' || isAdmin) return ALLOWED
  // Everybody may read a definition, but a module's source may contain text that only its author should see.
  return deny(`Only an admin may ${verb === 'write' ? 'write' : 'read the modules of'} the global layer.`)
}

export function authorise(principal: Principal, action: Action): void {
  const decision = decide(principal, action)
  if (!decision.allowed) throw new ToolrackError('PERMISSION_DENIED', decision.reason)
}

const ALLOWED: Decision = { allowed: true }

const NO_JOB_GOVERNS = 'Only a user may decide approvals or write rules, not a job.'
const NOT_AN_APPROVER =
  'This token may call tools, but not decide approvals, write rules or erase records. Use the approver token: it is in the file approver-token of the data folder (TOOLRACK_DATA), or npm run users has printed it beside this one.'

const WHY_NOT_BY_JOB_TOKEN = {
  write: 'A job token never writes.',
  'write-agents': 'A job token can read agents, but never writes them.',
  rules: 'A job token may not read rules.',
  'write-rules': 'A job token may not write rules.',
  simulate: 'A job token may not simulate calls.',
  refresh: 'A job token may not refresh the folder of modules.',
  mint: 'A job token never mints another.',
  'read-audit': 'A job token cannot read the audit trail.',
  'verify-audit': 'A job token cannot verify the audit trail.',
  'erase-audit': 'A job token never erases anything.',
  'read-approvals': 'A job token never reads approvals.',
  'read-sessions':
    'A job token may list and call through a session, but not read it: it may have tools that the token does not name.',
  'write-sessions': 'A job token may list and call through a session, but not make or change one.',
  govern: 'A job token never decides approvals and never writes rules.',
  'read-scopes': 'A job token may list by a stored scope (scope=ref:KIND/ID), but not read the scope.',
  'write-scopes': 'A job token never writes scopes.',
  'read-modules': 'A job token can read the definitions of its tools, but not their source.',
  'read-versions': 'A job token can read the present definitions of its tools, but not their older versions.',
} as const

function deny(reason: string): Decision {
  return { allowed: false, reason }
}
