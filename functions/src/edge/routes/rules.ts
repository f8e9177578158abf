import { isJsonObject, OWNER_KINDS, ToolrackError, type JsonObject, type RuleOwner } from '@toolrack/contract'
import { isUid, UID_RULE, type Action } from '../../access/principal.ts'
import { Turns } from '../../loop-turn.ts'
import { isSessionId, SESSION_ID_RULE } from '../../tools/sessions/session.ts'
import { isWorkflowId, WORKFLOW_ID_RULE } from '../../access/job-token.ts'
import { callArguments } from '../../calls/pipeline/parse-call-request.ts'
import { parsedRules, refuseIdleRules } from '../../calls/rules/check-rules.ts'
import type { KeptRules } from '../../calls/rules/kept-rules.ts'
import type { CallingSession } from '../../calls/rules/rule-book.ts'
import { noRules } from '../../calls/rules/rule-writer.ts'
import { simulate } from '../../calls/rules/simulate.ts'
import { callerGone } from '../http/caller.ts'
import { preconditionOf } from '../http/entity-tag.ts'
import { refuseParameters } from '../http/query.ts'
import { bodyInvalid, readBody, readObject } from '../http/read-body.ts'
import { route, type FoundRequest, type KnownRequest, type Route } from '../http/route.ts'
import { sendJson, sendTagged } from '../http/send-json.ts'
import type { RouteParts } from './route-parts.ts'

const PATH = '/rules/:kind/:id'

export function ruleRoutes({ catalog, ruleBook, ruleWriter }: RouteParts): readonly Route[] {
  /** Adds the written rules, and the revision of the rules that now apply to the writer, to the record of the write. */
  async function noteWrite(
    { note, principal }: KnownRequest,
    { outcome, digest }: { readonly outcome: string; readonly digest: string },
  ): Promise<void> {
    const { revision } = await ruleBook.forList(principal)
    note?.({ digest, revision, subject: { outcome } })
  }

  return [
    // The rules of one owner. Their entity tag is the digest of the set.
    route({
      method: 'GET',
      path: PATH,
      ask: askedOwner,
      action: ruleAction,
      async handle({ principal, asked: owner, res }) {
        const kept = await ruleWriter.find({ uid: principal.uid, owner })
        if (!kept) throw noRules()
        sendTagged(res, kept.digest, () => shownRules(owner, kept))
      },
    }),
    route({
      method: 'PUT',
      path: PATH,
      takesBody: true,
      ask: askedWrite,
      action: ({ owner }) => writeAction(owner),
      async handle(request) {
        const { principal, asked, res } = request
        const { owner } = asked
        const set = parsedRules(await readBody(request, 'single'))
        // The view is not narrowed by rules: a rule must still match the tool that it hides.
        const ofWhom = owner.kind === 'user' ? { uid: owner.id } : principal
        await new Turns(callerGone(res)).run(refuseIdleRules(set, await catalog.view(ofWhom)))
        const { outcome, digest } = await ruleWriter.put({ uid: principal.uid, ...asked }, set)
        await noteWrite(request, { outcome, digest })
        const answer = { owner, outcome, digest, ...set }
        sendJson(res, outcome === 'created' ? 201 : 200, answer, { ETag: `"${digest}"` })
      },
    }),
    route({
      method: 'DELETE',
      path: PATH,
      ask: askedWrite,
      action: ({ owner }) => writeAction(owner),
      async handle(request) {
        const { principal, asked, res } = request
        const { outcome, digest } = await ruleWriter.delete({ uid: principal.uid, ...asked })
        await noteWrite(request, { outcome, digest })
        sendJson(res, 200, { owner: asked.owner, outcome, digest })
      },
    }),
    // What the rules would say of a call. Nothing is run.
    route({
      method: 'POST',
      path: '/permissions/simulate',
      takesBody: true,
      ask: refuseParameters,
      action: { verb: 'simulate' },
      async handle(request) {
        const { principal, res } = request
        const { name, args, as } = askedCall(await readObject(request, 'single'))
        const { uid = principal.uid, workflow: workflowId, ...lineage } = as
        if (uid !== principal.uid && !principal.isAdmin)
          throw new ToolrackError('PERMISSION_DENIED', 'Only an admin may simulate calls of another user.')
        sendJson(res, 200, await simulate({ catalog, ruleBook }, { uid, workflowId, ...lineage }, name, args))
      },
    }),
  ]
}

function ruleAction({ kind, id }: RuleOwner): Action {
  return { verb: 'rules', owner: kind, id }
}

function writeAction({ kind, id }: RuleOwner): Action {
  return { verb: 'write-rules', owner: kind, id }
}

function askedWrite(request: FoundRequest<typeof PATH>) {
  return { owner: askedOwner(request), precondition: preconditionOf(request.req.headers) }
}

function askedOwner({ params, search }: FoundRequest<typeof PATH>): RuleOwner {
  refuseParameters({ search })
  const kind = OWNER_KINDS.find((one) => one === params.kind)
  if (!kind) throw wrongOwner(`the kind of an owner is ${OWNER_KINDS.join(', ')}`)
  if (kind === 'everybody' && params.id !== 'all') throw wrongOwner('rules for everybody are everybody/all')
  if (kind === 'user' && !isUid(params.id)) throw wrongOwner(UID_RULE)
  if (kind === 'session' && !isSessionId(params.id)) throw wrongOwner(SESSION_ID_RULE)
  if ((kind === 'workflow' || kind === 'agent') && !isWorkflowId(params.id))
    throw wrongOwner(`the id of a workflow or an agent ${WORKFLOW_ID_RULE}`)
  return { kind, id: params.id }
}

function wrongOwner(rule: string): ToolrackError {
  return new ToolrackError('RULES_NOT_FOUND', `There is no such owner of rules: ${rule}.`)
}

function shownRules(owner: RuleOwner, { set, digest, updatedAt, updatedBy }: KeptRules) {
  return { owner, digest, updatedAt, updatedBy, ...set }
}

function askedCall(body: JsonObject) {
  const { name, arguments: args = {}, as = {}, ...rest } = body
  if (Object.keys(rest).length > 0)
    throw bodyInvalid('The body takes name, arguments and as, and nothing else.')
  if (typeof name !== 'string') throw bodyInvalid('The body at /name: it must be the name of a tool.')
  return { name, args: callArguments(args), as: askedAs(as) }
}

type AskedAs = { readonly uid?: string; readonly workflow?: string; readonly session?: CallingSession }

function askedAs(as: JsonObject[string]): AskedAs {
  const { uid, workflow, session, agent, ...rest } = isJsonObject(as) ? as : { wrong: as }
  if (Object.keys(rest).length > 0)
    throw bodyInvalid(
      'The body at /as: it must be {"uid": "…", "workflow": "…", "session": "…", "agent": "…"}.',
    )
  if (uid !== undefined && !isUid(uid)) throw bodyInvalid(`The body at /as/uid: ${UID_RULE}.`)
  if (workflow !== undefined && !isWorkflowId(workflow))
    throw bodyInvalid(`The body at /as/workflow: it ${WORKFLOW_ID_RULE}.`)
  if (session !== undefined && !isSessionId(session))
    throw bodyInvalid(`The body at /as/session: ${SESSION_ID_RULE}.`)
  if (agent !== undefined && !isWorkflowId(agent))
    throw bodyInvalid(`The body at /as/agent: it ${WORKFLOW_ID_RULE}.`)
  // No session has an empty id, so an agent without a session gets the rules of the agent only.
  const lineage = [{ id: session ?? '', agent: agent ?? null }]
  return {
    ...(uid !== undefined && { uid }),
    ...(workflow !== undefined && { workflow }),
    ...((session ?? agent) !== undefined && { session: { lineage } }),
  }
}
