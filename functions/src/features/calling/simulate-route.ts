import { isJsonObject, ToolrackError, type JsonObject, type RuleDecision } from '@toolrack/contract'
import { byUsersOnly } from '../../access/action.ts'
import { isWorkflowId, WORKFLOW_ID_RULE } from '../../access/job-token.ts'
import { isUid, UID_RULE } from '../../access/principal.ts'
import { callArguments } from '../../calls/pipeline/parse-call-request.ts'
import { Query } from '../../http/query.ts'
import { bodyInvalid, readObject } from '../../http/read-body.ts'
import { route, type FoundRequest, type Route } from '../../http/route.ts'
import { sendJson } from '../../http/send-json.ts'
import { recordedRule } from '../audit/audit-call.ts'
import { sessionIn } from '../sessions/asked-session.ts'
import { isSessionId, SESSION_ID_RULE } from '../sessions/session.ts'
import type { Simulate } from './simulate.ts'

/** Simulates calls. */
const SIMULATE = byUsersOnly('simulate', {
  jobToken: 'A job token may not simulate calls.',
  job: 'Only a user may simulate calls, not a job.',
})

/** `POST /permissions/simulate`: says what would happen to a call. Nothing is run. */
export function simulateRoute({ simulate }: { readonly simulate: Simulate }): Route {
  return route({
    method: 'POST',
    path: '/permissions/simulate',
    schemas: async () => (await import('./call-schemas.ts')).SIMULATE,
    takesBody: true,
    ask: ({ search }: FoundRequest) => ({ session: sessionIn(new Query(search, ['session'])) }),
    action: SIMULATE,
    audit: { kind: 'simulation' },
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
  })
}

/** Adds to the record of a simulation what was simulated, for whom, and what the rules decided. */
function noteSimulation({ note }: Pick<FoundRequest, 'note'>, uid: string, simulated: Simulated): void {
  const { name: tool, effect: decision, ...decided } = simulated
  note?.({ tool, decision, rule: recordedRule(decided), subject: { as: uid } })
}

type Simulated = Pick<RuleDecision, 'effect' | 'owner' | 'rule'> & { readonly name: string }

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
