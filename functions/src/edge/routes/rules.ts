import {
  isJsonObject,
  OWNER_KINDS,
  ToolrackError,
  type JsonObject,
  type RuleDecision,
  type RuleOwner,
} from '@toolrack/contract'
import { isUid, UID_RULE, type Action } from '../../access/principal.ts'
import { Turns } from '../../loop-turn.ts'
import { isSessionId, SESSION_ID_RULE } from '../../tools/sessions/session.ts'
import { isWorkflowId, WORKFLOW_ID_RULE } from '../../access/job-token.ts'
import { recordedRule } from '../../calls/audit/audit-call.ts'
import { callArguments } from '../../calls/pipeline/parse-call-request.ts'
import { checkedRules, parsedRules } from '../../calls/rules/check-rules.ts'
import type { KeptRules, RuleVersion } from '../../calls/rules/kept-rules.ts'
import { noRules } from '../../calls/rules/rule-writer.ts'
import { callerGone } from '../http/caller.ts'
import { preconditionOf } from '../http/entity-tag.ts'
import { Query, refuseParameters } from '../http/query.ts'
import { bodyInvalid, readBody, readObject } from '../http/read-body.ts'
import { route, type FoundRequest, type KnownRequest, type Route } from '../http/route.ts'
import { sendJson, sendTagged } from '../http/send-json.ts'
import { sessionIn } from './asked-session.ts'
import type { RouteParts } from './route-parts.ts'

const PATH = '/rules/:kind/:id'

export function ruleRoutes({ catalog, ruleBook, ruleWriter, simulate }: RouteParts): readonly Route[] {
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
    // The versions of an owner's rules that are kept, the newest first.
    route({
      method: 'GET',
      path: `${PATH}/versions`,
      ask: askedOwner,
      action: ruleAction,
      async handle({ principal, asked: owner, res }) {
        const versions = await ruleWriter.history({ uid: principal.uid, owner })
        sendJson(res, 200, { owner, versions: versions.map(shownVersion) })
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
        const sent = parsedRules(await readBody(request, 'rules'))
        // The view is not narrowed by rules: a rule must still match the tool that it hides.
        const ofWhom = owner.kind === 'user' ? { uid: owner.id } : principal
        const turns = new Turns(callerGone(res))
        const { set, meets, more } = await checkedRules(sent, await catalog.view(ofWhom), turns)
        const { outcome, digest } = await ruleWriter.put({ uid: principal.uid, ...asked }, set)
        await noteWrite(request, { outcome, digest })
        const answer = { owner, outcome, digest, ...set, meets, ...(more > 0 && { more }) }
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
    // What would become of a call. Nothing is run.
    route({
      method: 'POST',
      path: '/permissions/simulate',
      takesBody: true,
      ask: ({ search }: FoundRequest) => ({ session: sessionIn(new Query(search, ['session'])) }),
      action: { verb: 'simulate' },
      async handle(request) {
        const { principal, asked, res } = request
        const { as, ...call } = askedCall(await readObject(request, 'simulation'))
        const { uid = principal.uid, session, ...through } = as
        if (uid !== principal.uid && !principal.isAdmin)
          throw new ToolrackError('PERMISSION_DENIED', 'Only an admin may simulate calls of another user.')
        if (session !== undefined && asked.session !== undefined) throw bodyInvalid(TWO_SESSIONS)
        const caller = uid === principal.uid ? principal : ({ kind: 'user', uid, isAdmin: false } as const)
        const sessionId = asked.session ?? session
        const simulated = await simulate({ ...call, ...through, sessionId, principal: caller })
        noteSimulation(request, uid, simulated)
        sendJson(res, 200, simulated)
      },
    }),
  ]
}

/** Adds what was simulated, for whom, and what the rules said to the record of a simulation. */
function noteSimulation({ note }: Pick<FoundRequest, 'note'>, uid: string, simulated: Simulated): void {
  const { name: tool, effect: decision, ...decided } = simulated
  note?.({ tool, decision, rule: recordedRule(decided), subject: { as: uid } })
}

type Simulated = Pick<RuleDecision, 'effect' | 'owner' | 'rule'> & { readonly name: string }

function ruleAction({ kind, id }: RuleOwner): Action {
  return { verb: 'rules', owner: kind, id }
}

function writeAction({ kind, id }: RuleOwner): Action {
  return { verb: 'write-rules', owner: kind, id }
}

function askedWrite(request: FoundRequest<typeof PATH>) {
  return { owner: askedOwner(request), precondition: preconditionOf(request.req.headers) }
}

type OwnerPath = { readonly kind: string; readonly id: string }

function askedOwner({ params, search }: { readonly params: OwnerPath; readonly search: string }): RuleOwner {
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

function shownVersion({ version, set, digest, updatedAt, updatedBy }: NumberedRules) {
  const facts = { version, digest, updatedAt, updatedBy }
  return set ? { ...facts, ...set } : { ...facts, isDeleted: true }
}

type NumberedRules = RuleVersion & { readonly version: number }

const TWO_SESSIONS = 'The body at /as/session: the address names the session already; leave one of them out.'

function askedCall(body: JsonObject) {
  const { name, arguments: args = {}, approval, as = {}, ...rest } = body
  if (Object.keys(rest).length > 0)
    throw bodyInvalid('The body takes name, arguments, approval and as, and nothing else.')
  if (typeof name !== 'string') throw bodyInvalid('The body at /name: it must be the name of a tool.')
  if (approval !== undefined && typeof approval !== 'string')
    throw bodyInvalid('The body at /approval: it must be the id of an approval.')
  return { name, arguments: callArguments(args), approval, as: askedAs(as) }
}

function askedAs(as: JsonObject[string]) {
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
  return { uid, workflow, session, agent }
}
