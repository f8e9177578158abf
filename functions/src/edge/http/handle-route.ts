import { isToolrackError } from '@toolrack/contract'
import type { IncomingMessage } from 'node:http'
import type { Authenticate } from '../../access/authenticate.ts'
import { authorise, decide } from '../../access/decide.ts'
import type { Principal } from '../../access/principal.ts'
import { readBytes } from './read-body.ts'
import type { Family, FoundRequest, PublicRoute, Route, TableRow } from './route.ts'
import { answerTo } from './unread-answers.ts'

export type Handle = (request: FoundRequest) => void | Promise<void>

/** Finds out who is asking and whether they may, then lets the route do the rest. */
export function handlerOf(row: TableRow, family: Family, authenticate: Authenticate): Handle {
  return row.action === 'anybody'
    ? publicHandler(row, authenticate)
    : privateHandler(row, family, authenticate)
}

/** Answers at once where everything that is needed is at hand. */
function privateHandler(route: Route, family: Family, authenticate: Authenticate): Handle {
  return function handleRoute(found) {
    const { authorization, 'x-user-id': userId } = found.req.headers
    const principal = authenticate({ authorization, userId: userId?.toString(), family })
    return principal instanceof Promise
      ? principal.then((known) => answerIfAllowed(route, found, known))
      : answerIfAllowed(route, found, principal)
  }
}

/** The one place that asks whether a request may be answered; its body is not read yet. */
function answerIfAllowed(route: Route, found: FoundRequest, principal: Principal): void | Promise<void> {
  const { action, ask, hide, inFull } = route
  found.unread.refuseIfTooMuch(principal.uid)
  answerTo(found.res, { unread: found.unread, user: principal.uid })
  if (typeof action !== 'function') authorise(principal, action)
  const asked = ask?.(found)
  const isInFull = inFull !== undefined && decide(principal, inFull).allowed
  const request = { ...found, principal, asked, inFull: isInFull }
  if (typeof action === 'function') {
    const wanted = action(asked)
    if (hide && !decide(principal, wanted).allowed) return hide(request)
    authorise(principal, wanted)
  }
  // Node hands a request on before its body is parsed: one that turns out not to be HTTP must have changed nothing.
  if (route.method !== 'GET' && !route.takesBody && announcesBody(found.req))
    return readBytes(request, 'single').then(() => route.handle(request))
  return route.handle(request)
}

function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

function publicHandler({ handle }: PublicRoute, authenticate: Authenticate): Handle {
  return async function handleRoute(found) {
    return handle({ ...found, principal: await knownPrincipal(authenticate, found.req) })
  }
}

/** Whoever cannot be known, for whatever reason, gets the public answer: a probe must not fail by its token. */
async function knownPrincipal(
  authenticate: Authenticate,
  { headers }: IncomingMessage,
): Promise<Principal | undefined> {
  try {
    return await authenticate({
      authorization: headers.authorization,
      userId: undefined,
      family: 'workflows',
    })
  } catch (error) {
    if (isToolrackError(error)) return undefined
    throw error
  }
}
