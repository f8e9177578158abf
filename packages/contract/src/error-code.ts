/** What an error code means for the program that receives it. */
export type ErrorKind = {
  /** The HTTP status. It is 200 if the tool itself failed, because the service then answers with a ToolResult. */
  readonly httpStatus: number
  /** The Google API status, such as `NOT_FOUND`. It is `OK` if the HTTP status is 200. */
  readonly status: string
  /** True if the same request can succeed later without a change. */
  readonly retry: boolean
  /** The public message, if an error is thrown without one. */
  readonly text: string
}

/** The usual status of Google's APIs for each HTTP status. An error code can have another one. */
const STATUS: Readonly<Record<number, string>> = {
  200: 'OK',
  202: 'OK',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'FAILED_PRECONDITION',
  410: 'FAILED_PRECONDITION',
  412: 'FAILED_PRECONDITION',
  425: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

/** All error codes. Recognize an error by its code, never by its class or its text. */
export const ERROR_CODES = {
  APPROVAL_REQUIRED: kind(202, 'The call waits for an approval; nothing was run yet.'),
  REQUEST_MALFORMED: kind(400, 'The request is not valid HTTP.'),
  BODY_INVALID: kind(400, 'The body is not valid JSON of the expected shape.'),
  CALLS_INVALID: kind(400, 'The body has no tool calls that can be read; nothing was run.'),
  PARAMETER_INVALID: kind(400, 'A query parameter has a value that is not allowed.'),
  PARAMETER_UNKNOWN: kind(400, 'A query parameter is not known here.'),
  HEADER_INVALID: kind(400, 'A request header has a value that is not allowed.'),
  NAME_INVALID: kind(400, 'The tool name is not allowed.'),
  NAME_MISMATCH: kind(400, 'The name in the body is not the name in the path.'),
  ARGUMENTS_INVALID: kind(400, 'The arguments do not fit the parameters of the tool.'),
  TOKEN_INVALID: kind(
    401,
    'A valid token is needed: send "Authorization: Bearer <token>". If you sent one, see that no proxy on the way removes the header.',
  ),
  PERMISSION_DENIED: kind(403, 'You may not do this.'),
  NOT_SELECTED: kind(403, 'The tool is not in the selection of the session; nothing was run.'),
  GRANTS_PENDING: kind(
    403,
    'The module asks for grants, and nobody who may do so has accepted them yet; nothing was run.',
  ),
  APPROVAL_DENIED: kind(403, 'The approval of the call was denied; nothing was run.'),
  ROUTE_NOT_FOUND: kind(404, 'There is no such route.'),
  TOOL_NOT_FOUND: kind(404, 'There is no tool of that name in that layer.'),
  MODULE_UNKNOWN: kind(404, 'The runner does not hold that module; repeat the call with its source.'),
  MODULE_NOT_FOUND: kind(404, 'There is no module of that name in that layer.'),
  INVOCATION_NOT_FOUND: kind(
    404,
    'There is no such call, or no log of it: it printed nothing, is too long ago, or is not yours.',
  ),
  APPROVAL_NOT_FOUND: kind(404, 'There is no such approval of yours.'),
  SESSION_NOT_FOUND: kind(
    404,
    'There is no such session of yours: it was never made, was deleted, or has ended.',
  ),
  RULES_NOT_FOUND: kind(404, 'That owner has no rules.'),
  AGENT_NOT_FOUND: kind(404, 'There is no such agent of yours.'),
  SCOPE_NOT_FOUND: kind(404, 'You have stored no scope for that owner.'),
  ITEM_NOT_FOUND: kind(404, 'You have nothing of that name there.'),
  ARTIFACT_NOT_FOUND: kind(
    404,
    'There is no such artifact of yours: it never was, was deleted, or has expired.',
  ),
  VERSION_NOT_FOUND: kind(404, 'That version is not among the versions kept.'),
  METHOD_NOT_ALLOWED: kind(405, 'The route does not know this method.'),
  NOT_ACCEPTABLE: kind(406, 'The answer cannot be sent in a form that the request accepts; nothing was run.'),
  NAME_SEALED: kind(409, 'The name is sealed by another layer.', 'ALREADY_EXISTS'),
  NAME_TAKEN: kind(409, 'A definition of that name exists in that layer.', 'ALREADY_EXISTS'),
  MANAGED_BY_MODULE: kind(409, 'The tool belongs to a module and changes only with it.'),
  LAYER_FULL: kind(409, 'The layer holds as many definitions as it may.'),
  RULES_FULL: kind(409, 'The rules would be larger than they may be; nothing was written.'),
  AGENT_CONFLICT: kind(409, 'The agent cannot be written: its id is taken or reserved, or it is in a file.'),
  AGENTS_FULL: kind(409, 'There are as many agents, tools of the agent or links as there may be.'),
  SESSIONS_FULL: kind(409, 'You have as many sessions as you may; nothing was written.'),
  SESSION_LOCKED: kind(409, 'The selection of the session is locked; fork the session to choose anew.'),
  SELECTION_WIDER: kind(409, 'The selection has tools that the parent session has not.'),
  SCOPES_FULL: kind(409, 'The stored scopes would be more than they may be; nothing was written.'),
  ITEMS_FULL: kind(409, 'You have as much of that as you may; nothing was written.'),
  DIGEST_CHANGED: kind(409, 'The tool has changed: its present digest is not the one that was named.'),
  RUNS_AT_CLIENT: kind(409, 'The tool runs at the client; nothing was run here.'),
  IDEMPOTENCY_CONFLICT: kind(409, 'The Idempotency-Key belongs to another call; nothing was run.'),
  APPROVAL_CONFLICT: kind(
    409,
    'The approval is decided or used, or is that of another call; nothing was run.',
  ),
  APPROVAL_EXPIRED: kind(410, 'The approval has expired; nothing was run. Make the call again.'),
  REVISION_UNKNOWN: kind(
    410,
    'Nothing is known here about what has changed since that revision. List the tools again, and go on from the X-Tools-Revision of that list.',
  ),
  PRECONDITION_FAILED: kind(412, 'The definition is not in the state the request asks for.'),
  BODY_TOO_LARGE: kind(413, 'The body is larger than the route takes.'),
  ANSWER_TOO_LARGE: kind(
    413,
    'The whole list is too large for one answer; page it with limit.',
    'OUT_OF_RANGE',
  ),
  DEFINITION_INVALID: kind(422, 'The definition is not valid.'),
  SELECTION_INVALID: kind(422, 'The selection has tools that do not exist, or too many.'),
  RULE_INVALID: kind(422, 'The rules are not valid.'),
  SCHEMA_REJECTED: kind(422, 'The schema of the parameters is not admitted.'),
  PACKAGES_REFUSED: kind(
    422,
    'The packages that the module asks for cannot be had here; nothing was written.',
  ),
  SECRET_MISSING: kind(422, 'A secret that the tool needs is not stored; nothing was run.'),
  MODULE_INVALID: kind(422, 'The module does not keep the convention for tool modules.'),
  ARGUMENTS_REDACTED: kind(
    422,
    'The edited arguments hold a secret that the service does not know or cannot keep; nothing was decided.',
  ),
  CALL_IN_FLIGHT: retryable(
    425,
    'The call with this Idempotency-Key still runs; ask again with the same key.',
  ),
  HEADERS_TOO_LARGE: kind(431, 'The address and headers are larger than the service takes.'),
  SERVICE_BUSY: retryable(429, 'The service has as much work as it takes; nothing was done. Try again.'),
  LIMIT_EXCEEDED: retryable(429, 'A limit of calls is reached; nothing was run. Try again later.'),
  RUNNER_BUSY: retryable(429, 'The runner has as many calls as it takes; try again.'),
  CANCELLED: kind(499, 'The caller disconnected before the answer.'),
  INTERNAL: kind(500, 'The service failed; the log has the reason under the request id.'),
  KIND_NOT_SERVED: kind(501, 'The service does not run tools of that kind; nothing was run.'),
  KEYS_UNAVAILABLE: retryable(
    503,
    'The keys that tokens are checked or signed with are not available; try again.',
  ),
  LAYER_UNAVAILABLE: retryable(
    503,
    'A layer or the rules could not be read, and strict=1 asks for all of them.',
  ),
  STORE_BUSY: retryable(503, 'The store is locked by another program; nothing was written.'),
  STORE_FULL: retryable(503, 'The disk of the store is full; nothing was written.'),
  STORE_FAILED: retryable(503, 'The store could not be reached; nothing was written.'),
  AUDIT_UNAVAILABLE: retryable(
    503,
    'This service keeps a record of everything that it does, and its record cannot be written now; nothing was run.',
  ),
  RUNNER_UNAVAILABLE: retryable(503, 'The runner cannot be reached; nothing was run.'),
  TOOL_UNAVAILABLE: retryable(
    503,
    'The tool has failed several times in a row, so it is not called for a while; nothing was run.',
  ),
  PACKAGES_UNAVAILABLE: retryable(
    503,
    'The packages of the module cannot be installed now; nothing was run or written. Try again.',
  ),
  ISOLATION_UNAVAILABLE: kind(
    503,
    'The runner cannot isolate the tool as its definition asks; nothing was run.',
  ),
  WORKER_DIED: kind(503, 'The process of the call was lost; the tool may have run.'),
  UNKNOWN_OUTCOME: kind(
    503,
    'The outcome of the call with this Idempotency-Key is not known; the tool may have run.',
  ),
  DEADLINE_EXCEEDED: kind(504, 'The tool did not end in time and was killed.'),
  MODULE_BROKEN: kind(200, 'The module of the tool cannot be imported, or its stored spec is refused now.'),
  TOOL_RAISED: kind(200, 'The tool raised an exception.'),
  TOOL_CRASHED: kind(200, 'The tool ended its own process.'),
  RESULT_INVALID: kind(200, 'The tool returned a value that JSON cannot hold.'),
  RESULT_TOO_LARGE: kind(200, 'The result of the tool is larger than allowed.'),
  MEMORY_LIMIT: kind(200, 'The tool needs more memory than it may have.'),
  DISK_LIMIT: kind(200, 'The tool writes more than its disk quota.'),
  CPU_LIMIT: kind(200, 'The tool used up its processor time.'),
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof ERROR_CODES

function kind(
  httpStatus: number,
  text: string,
  status = STATUS[httpStatus] ?? 'INVALID_ARGUMENT',
): ErrorKind {
  return { httpStatus, status, retry: false, text }
}

function retryable(httpStatus: number, text: string): ErrorKind {
  return { ...kind(httpStatus, text), retry: true }
}
