import { ToolrackError, type JsonObject } from '@toolrack/contract'
import { GOVERN } from '../../access/action.ts'
import { READ_APPROVALS } from './approval-actions.ts'
import { APPROVAL_STATES } from './approval.ts'
import type { Decision, ShownApproval } from './approvals.ts'
import { recordedRule } from '../audit/audit-call.ts'
import { toolFacts } from '../audit/tool-facts.ts'
import { callArguments } from '../../calls/pipeline/parse-call-request.ts'
import { PAGE_MAX } from '../../catalog/views/list-query.ts'
import { nextPage } from '../../http/next-page.ts'
import { invalidParameter, Query, refuseParameters } from '../../http/query.ts'
import { bodyInvalid, readObject } from '../../http/read-body.ts'
import { route, type FoundRequest, type KnownRequest, type Route } from '../../http/route.ts'
import { sendJson } from '../../http/send-json.ts'
import type { Catalog } from '../../catalog/views/catalog.ts'
import type { CheckEdited } from './check-edited.ts'
import type { SecretsFor } from '../secrets/load-secrets.ts'
import type { ShowArguments } from './show-arguments.ts'
import type { Approvals } from './approvals.ts'

type Parts = {
  readonly approvals: Approvals
  readonly checkEdited: CheckEdited
  readonly showArguments: ShowArguments
  readonly catalog: Catalog
  readonly secretsFor?: SecretsFor | undefined
}

const NOT_STORED = { 'Cache-Control': 'private, no-store' }

/** The form of an id, which is a UUID. A text of another form is not looked up. */
const APPROVAL_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function approvalRoutes({
  approvals,
  checkEdited,
  showArguments,
  catalog,
  secretsFor,
}: Parts): readonly Route[] {
  /** Adds facts about the call of an approval to the audit record of the request. */
  async function noteApproval(
    { note, principal }: KnownRequest,
    {
      id,
      tool,
      digest,
      asked,
      workflow,
      arguments: args,
    }: Awaited<ReturnType<typeof approvals.findReadable>>,
    edited = args?.edited,
  ): Promise<void> {
    if (!note) return
    const view = await catalog.view(principal)
    const entry = view.meaning(tool)
    // Which arguments are sensitive is known only if the tool still has the digest of the call.
    const facts =
      entry?.digest === digest
        ? toolFacts(entry, edited ?? args?.sent, (await secretsFor?.(principal, entry))?.stored)
        : { tool, digest }
    note({ ...facts, approval: id, workflow, revision: view.revision, rule: recordedRule(asked) })
  }

  return [
    // One page of the user's approvals, the newest first, without their arguments.
    route({
      method: 'GET',
      path: '/approvals',
      schemas: async () => (await import('./approval-schemas.ts')).LIST_APPROVALS,
      ask: askedPage,
      action: READ_APPROVALS,
      async handle({ principal, asked: { state, tool, limit, after }, path, search, res }) {
        const all = await approvals.list(principal.uid)
        const from = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
        if (after !== undefined && from === 0) throw invalidParameter('cursor', BAD_CURSOR)
        const found = all
          .slice(from)
          .filter((one) => (state ?? one.state) === one.state && (tool ?? one.tool) === one.tool)
        const items = found.slice(0, limit)
        const last = found.length > limit ? items.at(-1) : undefined
        const next = nextPage(path, search, last?.id)
        sendJson(res, 200, { items: items.map(answered) }, { ...NOT_STORED, ...next })
      },
    }),
    // One approval of the user, with the arguments of the call but without their secrets.
    route({
      method: 'GET',
      path: '/approvals/:id',
      schemas: async () => (await import('./approval-schemas.ts')).READ_APPROVAL,
      ask: refuseParameters,
      action: READ_APPROVALS,
      async handle({ principal, params: { id }, res }) {
        const approval = await approvals.find(principal.uid, checkedId(id))
        const shown = await showArguments(principal, approval)
        sendJson(res, 200, { ...answered(approval), ...shown }, NOT_STORED)
      },
    }),
    // Decides a pending approval. Edited arguments are checked like those of a call.
    route({
      method: 'POST',
      path: '/approvals/:id',
      schemas: async () => (await import('./approval-schemas.ts')).DECIDE_APPROVAL,
      takesBody: true,
      ask: refuseParameters,
      action: GOVERN,
      audit: { kind: 'approval' },
      async handle(request) {
        const { principal, params, res } = request
        const id = checkedId(params.id)
        const { arguments: edited, ...decision } = decisionIn(await readObject(request, 'decision'))
        await noteApproval(request, await approvals.findReadable(principal.uid, id), edited)
        request.note?.({ decision: decision.decision })
        // Except for a denial, `find` throws if the arguments cannot be read: nobody may approve arguments that cannot be shown.
        const found = decision.decision === 'deny' ? undefined : await approvals.find(principal.uid, id)
        const args = found && edited && (await checkEdited(principal, found, edited))
        const decided = await approvals.decide(principal.uid, id, { ...decision, arguments: args })
        request.note?.({ subject: { isEdited: decided.isEdited } })
        sendJson(res, 200, answered(decided), NOT_STORED)
      },
    }),
    // Cancels an approval that was not used, or forgets an answer for always or for a session.
    route({
      method: 'DELETE',
      path: '/approvals/:id',
      schemas: async () => (await import('./approval-schemas.ts')).REMOVE_APPROVAL,
      ask: refuseParameters,
      action: GOVERN,
      audit: { kind: 'approval' },
      async handle(request) {
        const { principal, params, res } = request
        const id = checkedId(params.id)
        await noteApproval(request, await approvals.findReadable(principal.uid, id))
        request.note?.({ decision: 'cancel' })
        await approvals.remove(principal.uid, id)
        res.writeHead(204, NOT_STORED).end()
      },
    }),
  ]
}

const BAD_CURSOR = 'is not one that this service gave, or its approval is gone; begin again without it'

function checkedId(id: string): string {
  if (!APPROVAL_ID.test(id)) throw new ToolrackError('APPROVAL_NOT_FOUND')
  return id
}

/** An approval without the parts that only the service needs. `invocationId` is the call that has used it. */
function answered(approval: ShownApproval) {
  const { id, state, tool, digest, workflow, createdAt, expiresAt, decidedAt, isEdited, usedBy } = approval
  const session = approval.session?.id ?? null
  const { owner, rule, reason } = approval.asked
  const times = { createdAt, expiresAt, decidedAt }
  return {
    id,
    status: state,
    tool,
    digest,
    owner,
    rule,
    reason,
    session,
    workflow,
    ...times,
    isEdited,
    invocationId: usedBy,
  }
}

function askedPage({ search }: FoundRequest) {
  const query = new Query(search, ['status', 'tool', 'limit', 'cursor'])
  return {
    state: query.optional('status', APPROVAL_STATES),
    tool: query.one('tool'),
    limit: query.integer('limit', 1, PAGE_MAX) ?? PAGE_MAX,
    after: query.one('cursor'),
  }
}

const DECISIONS = ['once', 'always', 'session', 'deny'] as const

function decisionIn({ decision: sent, arguments: edited, ...rest }: JsonObject): Decision {
  const decision = DECISIONS.find((one) => one === sent)
  if (!decision) throw bodyInvalid('The body at /decision: it must be "once", "session", "always" or "deny".')
  if (Object.keys(rest).length > 0)
    throw bodyInvalid('The body takes decision and arguments, and nothing else.')
  if (edited === undefined) return { decision }
  if (decision !== 'once')
    throw bodyInvalid('Arguments can be replaced for one call only: send them with {"decision": "once"}.')
  return { decision, arguments: callArguments(edited) }
}
