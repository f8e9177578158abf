import { isToolrackError } from '@toolrack/contract'
import type { Authenticate } from '../access/authenticate.ts'
import { authorise, decide } from '../access/decide.ts'
import type { Principal } from '../access/principal.ts'
import { requestIsOf } from '../running-work.ts'
import { announcesBody, readBytes } from './read-body.ts'
import type { Family, FoundRequest, PublicRoute, RecordRequest, Route, TableRow } from './route.ts'
import { answerTo } from './unread-answers.ts'

export type Handle = (request: FoundRequest) => void | Promise<void>

/** Returns a function that authenticates and authorizes a request and then calls the route's handler. */
export function handlerOf(
  row: TableRow,
  family: Family,
  authenticate: Authenticate,
  record?: RecordRequest,
): Handle {
  if (row.action === 'anybody') return publicHandler(row, authenticate)
  const respond = record && isRecorded(row) ? recordedAnswer(record) : answerIfAllowed
  return function handleRoute(found) {
    const { authorization, 'x-user-id': userId } = found.req.headers
    const principal = authenticate({ authorization, userId: userId?.toString(), family })
    return principal instanceof Promise
      ? principal.then((known) => respond(row, found, known))
      : respond(row, found, principal)
  }
}

/**
 * True if requests of the route are recorded in the audit trail. Requests that only read are not. Calls of tools are not recorded
 * here, because each call makes a record of its own.
 */
function isRecorded({ method, audit }: Route): boolean {
  return audit === undefined ? method !== 'GET' : audit !== 'none'
}

/** Does what `answerIfAllowed` does, and records in the audit trail how the request ended. */
function recordedAnswer(record: RecordRequest): typeof answerIfAllowed {
  return (route, found, principal) =>
    record({ principal, route, found }, (note) => answerIfAllowed(route, { ...found, note }, principal))
}

/** Authorizes a request before its body is read, and then handles it. */
function answerIfAllowed(route: Route, found: FoundRequest, principal: Principal): void | Promise<void> {
  requestIsOf(principal.uid)
  const { action, ask, hide, inFull } = route
  found.unread.refuseIfTooMuch(principal.uid)
  answerTo(found.res, found.unread, principal.uid)
  if (typeof action !== 'function') authorise(principal, action)
  const asked = ask?.(found)
  const request = { ...found, principal, asked, inFull: !!inFull && decide(principal, inFull).allowed }
  if (typeof action === 'function') {
    const wanted = action(asked)
    if (hide && !decide(principal, wanted).allowed) return hide(request)
    authorise(principal, wanted)
  }
  // Node calls this function before it has parsed the body. The body is read first, so that malformed HTTP changes nothing.
  if (route.method !== 'GET' && !route.takesBody && announcesBody(found.req))
    return readBytes(request, 'none').then(() => route.handle(request))
  return route.handle(request)
}

function publicHandler(route: PublicRoute, authenticate: Authenticate): Handle {
  return async (found) => {
    const { authorization } = found.req.headers
    const needed = route.needs?.(found)
    let principal: Principal | undefined
    try {
      principal = await authenticate({ authorization, userId: undefined, family: 'workflows' })
      requestIsOf(principal.uid)
    } catch (error) {
      // A health check must not fail because its token is missing or is not valid.
      if (needed || !isToolrackError(error)) throw error
    }
    if (needed && principal) authorise(principal, needed)
    return route.handle({ ...found, principal })
  }
}
