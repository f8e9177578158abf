import { ToolrackError, type JsonObject } from '@toolrack/contract'
import { WRITE_AGENTS } from './agent-actions.ts'
import { READ } from '../../access/action.ts'
import { redactText } from '../../redaction/redact.ts'
import type { Principal } from '../../access/principal.ts'
import { whyNotCalled } from '../../access/visible.ts'
import { AGENTS_PER_USER, isOuterId, OUTER_ID_RULE } from './agent.ts'
import type { Agent, FixedAgent } from './agent.ts'
import type { LinkedSession } from './agent-store.ts'
import { agentFaultText, checkAgent, checkToolNames } from './check-agent.ts'
import { invalidParameter, Query } from '../../http/query.ts'
import { bodyInvalid, readObject, type Sent } from '../../http/read-body.ts'
import { route, type KnownRequest, type Route } from '../../http/route.ts'
import { sendJson } from '../../http/send-json.ts'
import type { Agents } from './agents.ts'

const ONE = '/agents/:id'
const TOOLS = '/agents/:id/tools'
const SESSION = '/agents/session/:sessionId'

/** The most agents of a list if the query has no `limit`. */
const LISTED = 50

/**
 * The routes of agents. Their requests, answers and errors have the form that they have in the original service, which Toolrack
 * replaces. As there, unknown parameters and fields are ignored. So a `userId` is ignored too: the token says who the user is.
 */
export function agentRoutes({ agents }: Parts): readonly Route[] {
  return [...sessionRoutes({ agents }), ...crudRoutes({ agents }), ...toolRoutes({ agents })]
}

type Parts = { readonly agents: Agents }

function crudRoutes({ agents }: Parts): readonly Route[] {
  return [
    original({
      method: 'GET',
      path: '/agents',
      schemas: async () => (await import('./agent-schemas.ts')).LIST_AGENTS,
      ask({ search }) {
        const query = Query.ofKnown(search, ['limit', 'order'])
        const limit = query.integer('limit', 1, AGENTS_PER_USER) ?? LISTED
        return { limit, order: query.choice('order', ['desc', 'asc'], 'desc') }
      },
      action: READ,
      async handle({ principal, asked: { limit, order }, res }) {
        const found = await agents.list(principal.uid, limit, order)
        sendJson(res, 200, { agents: found.map((agent) => shownTo(principal, agent)) })
      },
    }),
    original({
      method: 'POST',
      path: '/agents',
      schemas: async () => (await import('./agent-schemas.ts')).CREATE_AGENT,
      takesBody: true,
      action: WRITE_AGENTS,
      async handle(request) {
        const { name, ...fields } = fieldsIn(await readObject(request, 'agent'))
        if (name === undefined) throw bodyInvalid('The body has no name; give the agent one.')
        const agent = await agents.create(request.principal.uid, { name, ...fields })
        request.note?.({ subject: { agent: redactText(agent.id) } })
        sendJson(request.res, 201, { agent: shownTo(request.principal, agent) })
      },
    }),
    original({
      method: 'GET',
      path: ONE,
      schemas: async () => (await import('./agent-schemas.ts')).READ_AGENT,
      action: READ,
      async handle({ principal, params: { id }, res }) {
        sendJson(res, 200, { agent: shownTo(principal, await agents.find(principal.uid, id)) })
      },
    }),
    original({
      method: 'PATCH',
      path: ONE,
      schemas: async () => (await import('./agent-schemas.ts')).CHANGE_AGENT,
      takesBody: true,
      action: WRITE_AGENTS,
      async handle(request) {
        const { principal, params, res } = request
        const fields = fieldsIn(await readObject(request, 'agent'))
        const agent = await agents.change(principal.uid, params.id, fields)
        sendJson(res, 200, { agent: shownTo(principal, agent) })
      },
    }),
    original({
      method: 'DELETE',
      path: ONE,
      schemas: async () => (await import('./agent-schemas.ts')).DELETE_AGENT,
      action: WRITE_AGENTS,
      async handle({ principal, params: { id }, res }) {
        await agents.delete(principal.uid, id)
        sendJson(res, 200, { ok: true })
      },
    }),
  ]
}

function toolRoutes({ agents }: Parts): readonly Route[] {
  return [
    original({
      method: 'GET',
      path: TOOLS,
      schemas: async () => (await import('./agent-schemas.ts')).READ_TOOLS,
      action: READ,
      async handle({ principal, params: { id }, res }) {
        sendJson(res, 200, { tools: namesFor(principal, await agents.tools(principal.uid, id)) })
      },
    }),
    changeTools('POST', (uid, id, names) => agents.addTools(uid, id, names)),
    changeTools('DELETE', (uid, id, names) => agents.removeTools(uid, id, names)),
  ]
}

/** A route that changes the tools of an agent. The answer has all tools that the agent has after the change. */
function changeTools(
  method: 'POST' | 'DELETE',
  change: (uid: string, id: string, names: readonly string[]) => Promise<readonly string[]>,
): Route {
  return original({
    method,
    path: TOOLS,
    schemas: async () => {
      const { ADD_TOOLS, REMOVE_TOOLS } = await import('./agent-schemas.ts')
      return method === 'POST' ? ADD_TOOLS : REMOVE_TOOLS
    },
    takesBody: true,
    action: WRITE_AGENTS,
    async handle(request) {
      const { principal, params, res } = request
      const names = await namesIn(request)
      const tools = await change(principal.uid, params.id, names)
      sendJson(res, 200, { tools: namesFor(principal, tools) })
    },
  })
}

/**
 * The routes of links from sessions to agents. They come before `/agents/:id/tools`, because a session may have the id `tools`.
 */
function sessionRoutes({ agents }: Parts): readonly Route[] {
  return [
    original({
      method: 'PUT',
      path: SESSION,
      schemas: async () => (await import('./agent-schemas.ts')).LINK_SESSION,
      takesBody: true,
      action: WRITE_AGENTS,
      async handle(request) {
        const session = sessionOf(request)
        const { agentId: sent } = await readObject(request, 'agent')
        const agentId = typeof sent === 'string' ? sent.trim() : ''
        if (agentId === '') throw bodyInvalid('The body must be {"agentId": "…"}, with the id of an agent.')
        await agents.link(session, agentId)
        request.note?.({ subject: { agent: redactText(agentId) } })
        sendJson(request.res, 200, { sessionId: session.sessionId, agentId })
      },
    }),
    original({
      method: 'GET',
      path: SESSION,
      schemas: async () => (await import('./agent-schemas.ts')).READ_LINK,
      action: READ,
      async handle(request) {
        const session = sessionOf(request)
        const agentId = await agents.linked(session)
        sendJson(request.res, 200, { sessionId: session.sessionId, agentId })
      },
    }),
    original({
      method: 'DELETE',
      path: SESSION,
      schemas: async () => (await import('./agent-schemas.ts')).UNLINK_SESSION,
      action: WRITE_AGENTS,
      async handle(request) {
        await agents.unlink(sessionOf(request))
        sendJson(request.res, 200, { ok: true })
      },
    }),
    original({
      method: 'GET',
      path: '/agents/session/:sessionId/tools',
      schemas: async () => (await import('./agent-schemas.ts')).READ_LINKED_TOOLS,
      action: READ,
      async handle(request) {
        const agentId = await agents.linked(sessionOf(request))
        const { principal, res } = request
        sendJson(res, 200, { tools: namesFor(principal, await agents.tools(principal.uid, agentId)) })
      },
    }),
  ]
}

/** The agent as the principal may see it: a job token sees only the tools that it names. */
function shownTo<Shown extends Agent | FixedAgent>(principal: Principal, agent: Shown): Shown {
  return agent.tools ? { ...agent, tools: namesFor(principal, agent.tools) } : agent
}

/** Those of the names and aliases that the principal may see. Everybody may see all of them, except a job with a job token. */
function namesFor(principal: Principal, names: readonly string[]): readonly string[] {
  return names.filter((name) => !whyNotCalled(principal, name))
}

/** A route with the same address and form as in the original service, which Toolrack replaces. */
function original<const Path extends string, Asked = undefined>(
  checked: Omit<Route<Path, Asked>, 'isOriginal'>,
): Route {
  return route<Path, Asked>({ ...checked, isOriginal: true })
}

function fieldsIn(body: JsonObject) {
  const checked = checkAgent(body)
  if ('fault' in checked) throw bodyInvalid(agentFaultText('The body', checked.fault))
  return checked.fields
}

async function namesIn(request: Sent): Promise<readonly string[]> {
  const { tools } = await readObject(request, 'agent')
  const checked = checkToolNames(tools)
  if ('fault' in checked) throw bodyInvalid(agentFaultText('The body', checked.fault))
  if (checked.names.length === 0)
    throw bodyInvalid('The body names no tool: send a name or a list of names in tools.')
  return checked.names
}

function sessionOf({ principal, params, req }: KnownRequest<typeof SESSION>): LinkedSession {
  const { sessionId } = params
  if (!isOuterId(sessionId)) throw invalidParameter('sessionId', OUTER_ID_RULE)
  // Without the header, or with a blank one, the links are the ones without a project.
  const project = req.headers['x-project-id']?.toString().trim() || undefined
  if (project !== undefined && !isOuterId(project))
    throw new ToolrackError('HEADER_INVALID', `The header x-project-id ${OUTER_ID_RULE}.`)
  return { uid: principal.uid, project, sessionId }
}
