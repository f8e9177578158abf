import type { Layer } from '@toolrack/contract'
import type { Principal } from './principal.ts'

/** Says whether an action is allowed, and if not, why. The reason is for the caller. */
export type Decision = { readonly allowed: true } | { readonly allowed: false; readonly reason: string }

/**
 * Something that a route lets a principal do, such as writing scopes. Each feature has its own actions. `decide` says whether a
 * principal may do the action. The code in `http/` calls it before the handler of the route.
 */
export type Action = {
  /** The name of the action, such as `write-scopes`. Actions with different decisions have different verbs. */
  readonly verb: string
  readonly decide: (principal: Principal) => Decision
}

export const ALLOWED: Decision = { allowed: true }

export function deny(reason: string): Decision {
  return { allowed: false, reason }
}

/** The action of reading what the caller may see anyway: lists, explanations and present definitions, for example. */
export const READ: Action = { verb: 'read', decide: () => ALLOWED }

/** Calls listed tools. */
export const CALL: Action = { verb: 'call', decide: () => ALLOWED }

/** An action that every principal may do except a job with a job token. `why` is the reason that such a job is given. */
export function notByJobTokens(verb: string, why: string): Action {
  return { verb, decide: ({ grant }) => (grant ? deny(why) : ALLOWED) }
}

/** An action that only users may do. `why.jobToken` is the reason for a job with a job token, and `why.job` for other jobs. */
export function byUsersOnly(verb: string, why: { readonly jobToken: string; readonly job: string }): Action {
  return {
    verb,
    decide: ({ grant, kind }) => (grant ? deny(why.jobToken) : kind === 'user' ? ALLOWED : deny(why.job)),
  }
}

/** The action of doing several things at once. Its verb is that of the first. */
export function allOf(first: Action, ...others: readonly Action[]): Action {
  return {
    verb: first.verb,
    decide(principal) {
      const decisions = [first, ...others].map((action) => action.decide(principal))
      return decisions.find(({ allowed }) => !allowed) ?? ALLOWED
    },
  }
}

const WHY_NOT_ON_LAYERS = {
  write: 'A job token never writes.',
  'read-modules': 'A job token can read the definitions of its tools, but not their source.',
} as const

/** An action on a layer of the catalog: changing the layer (`write`), or reading the sources of its modules (`read-modules`). */
export function onLayer(verb: keyof typeof WHY_NOT_ON_LAYERS, layer: Layer): Action {
  return {
    verb,
    decide({ grant, isAdmin }) {
      if (grant) return deny(WHY_NOT_ON_LAYERS[verb])
      if (verb === 'write' && layer === 'file')
        return deny('The file layer is changed by editing its files, not through the service.')
      if (layer === 'user' || isAdmin) return ALLOWED
      // Everybody may read a definition, but a module's source may contain text that only its author should see.
      return deny(`Only an admin may ${verb === 'write' ? 'write' : 'read the modules of'} the global layer.`)
    },
  }
}

/** Why an action is refused if the token may call tools, but not govern. */
export const NOT_AN_APPROVER =
  'This token may call tools, but not decide approvals, accept grants, write rules or secrets, or erase records. Use the approver token: it is in the file approver-token of the data folder (TOOLRACK_DATA), or npm run users has printed it beside this one.'

/**
 * The action of deciding approvals, accepting and revoking grants, and writing rules and secrets. It needs a token that may
 * approve: the ID token of a user, or the approver token of the embedded server. Tokens that models hold never may.
 */
export const GOVERN: Action = {
  verb: 'govern',
  decide({ grant, kind, mayApprove }) {
    if (grant)
      return deny(
        'A job token never decides approvals, never accepts grants and never writes rules or secrets.',
      )
    if (kind !== 'user')
      return deny('Only a user may decide approvals, accept grants, or write rules and secrets, not a job.')
    return mayApprove ? ALLOWED : deny(NOT_AN_APPROVER)
  },
}
