import { z } from 'zod'
import type { Action } from '../../access/action.ts'
import { grantOf, type Principal } from '../../access/principal.ts'
import type { RouteSchemas } from '../route-schemas.ts'
import type { Family, FoundRequest, Route, TableRow } from '../route.ts'

/** The kinds of senders who may make some or all requests of a route. */
export type Allowed = {
  /** Which requests of the route these are, in Markdown. Undefined if these are all requests. */
  readonly if: string | undefined
  /** The kinds of senders, such as `users` and `job tokens`. */
  readonly who: readonly string[]
  /** The route families in which the tokens of these senders are valid. */
  readonly families: readonly Family[]
}

const ME = 'ada'
const user = { kind: 'user', uid: ME } as const
const job = { kind: 'job', uid: ME } as const
const SENDERS = {
  user: { ...user, isAdmin: false },
  approver: { ...user, isAdmin: false, mayApprove: true },
  admin: { ...user, isAdmin: true },
  approvingAdmin: { ...user, isAdmin: true, mayApprove: true },
  job: { ...job, isAdmin: false },
  adminJob: { ...job, isAdmin: true },
  jobToken: { ...job, isAdmin: false, grant: grantOf([]), workflowId: 'nightly' },
} as const satisfies Record<string, Principal>

/**
 * The kinds of senders who may make requests of the route. To find them, the action of the route is tried with one sender of each
 * kind.
 */
export function whoMay(row: TableRow, schemas: RouteSchemas): readonly Allowed[] {
  const { action } = row
  if (action === 'anybody')
    return [{ if: undefined, who: ['everybody, also without a token'], families: ['workflows'] }]
  const isRoot = row.isRoot === true
  if (typeof action !== 'function') return [{ if: undefined, ...allowedTo(action, isRoot) }]
  const tried = casesOf(schemas).map(({ if: label, ...request }) => ({
    if: label,
    ...allowedTo(action(row.ask?.(requestOf(request))), isRoot),
  }))
  if (tried.length === 0)
    throw new Error(`Nothing says who may ${row.method} ${row.path}: add its cases to who-may.ts.`)
  const bySenders = Map.groupBy(tried, ({ who }) => who.join())
  return [...bySenders.values()].map((same): Allowed => {
    const families = [...new Set(same.flatMap((one) => one.families))]
    const label = bySenders.size === 1 ? undefined : same.map((one) => one.if).join(', ')
    return { if: label, who: same[0]?.who ?? [], families }
  })
}

/** The kinds of senders who get the full answer. Undefined if all get the same answer. */
export function whoInFull({ inFull, isRoot }: Route): readonly string[] | undefined {
  return inFull && allowedTo(inFull, isRoot === true).who
}

function allowedTo(action: Action, isRoot: boolean): Omit<Allowed, 'if'> {
  const may = (sender: keyof typeof SENDERS): boolean => action.decide(SENDERS[sender]).allowed
  const users = may('approver') ? 'users' : may('approvingAdmin') ? 'admins' : undefined
  const needsApprover = !may(users === 'users' ? 'user' : 'admin')
  const who = users === undefined ? [] : [needsApprover ? `${users} whose token may decide approvals` : users]
  // Tokens of jobs are not valid at the root.
  if (isRoot) return { who, families: ['workflows'] }
  if (may('job')) who.push('jobs')
  if (may('jobToken')) who.push('job tokens')
  const hasJobs = may('job') || may('adminJob') || may('jobToken')
  const families = [
    ...(users === undefined ? [] : ['workflows' as const]),
    ...(hasJobs ? ['jobs' as const] : []),
  ]
  return { who, families }
}

type Case = {
  readonly if: string
  readonly params?: Readonly<Record<string, string>>
  readonly search?: string
}

/** Example requests of a route, one for each way in which its action can depend on the request. */
function casesOf({ params, query }: RouteSchemas): readonly Case[] {
  const { layer, uid } = query.shape as Readonly<Record<string, z.core.$ZodType>>
  const { kind: ownerKind } = params.shape as Readonly<Record<string, z.core.$ZodType>>
  if (layer) return valuesOf(layer).map((one) => ({ if: `\`layer=${one}\``, search: `layer=${one}` }))
  if (uid)
    return [
      { if: 'your own `uid`, or none', search: `uid=${ME}` },
      { if: 'another `uid`', search: 'uid=grace' },
    ]
  return valuesOf(ownerKind).flatMap((kind): Case[] => {
    if (kind === 'everybody') return [{ if: '`everybody/all`', params: { kind, id: 'all' } }]
    const id = 'ID'
    if (kind !== 'user') return [{ if: `\`${kind}/${id}\``, params: { kind, id } }]
    return [
      { if: 'your own `user/ID`', params: { kind, id: ME } },
      { if: '`user/ID` of another user', params: { kind, id } },
    ]
  })
}

/** The allowed values of a parameter, if its schema lists them. */
function valuesOf(parameter: z.core.$ZodType | undefined): readonly string[] {
  const inner = parameter instanceof z.ZodOptional ? parameter.unwrap() : parameter
  return inner instanceof z.ZodEnum ? inner.options.map(String) : []
}

function requestOf({ params = {}, search = '' }: Omit<Case, 'if'>): FoundRequest {
  return { path: '', search, params, req: { headers: {} } } as unknown as FoundRequest
}
