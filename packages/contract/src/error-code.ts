/** What an error means to the program that gets it. */
export type ErrorKind = {
  /** HTTP status. 200 where the tool itself failed: the service did what it was asked for, and answers a ToolResult. */
  readonly httpStatus: number
  /** The canonical Google API status that goes with it; OK with 200. */
  readonly status: string
  /** Whether the same request can succeed later without a change. */
  readonly retry: boolean
  /** The public sentence, used where the place that raised it has nothing more exact to say. */
  readonly text: string
}

/** The closed list of error codes. Recognise an error by its code, never by its class or its text. */
export const ERROR_CODES = {
  REQUEST_MALFORMED: kind(400, 'INVALID_ARGUMENT', 'The request is not valid HTTP.'),
  BODY_INVALID: kind(400, 'INVALID_ARGUMENT', 'The body is not valid JSON of the expected shape.'),
  PARAMETER_INVALID: kind(400, 'INVALID_ARGUMENT', 'A query parameter has a value that is not allowed.'),
  PARAMETER_UNKNOWN: kind(400, 'INVALID_ARGUMENT', 'A query parameter is not known here.'),
  PARAMETER_UNAVAILABLE: kind(400, 'INVALID_ARGUMENT', 'A query parameter is not available in this version.'),
  HEADER_INVALID: kind(400, 'INVALID_ARGUMENT', 'A request header has a value that is not allowed.'),
  NAME_INVALID: kind(400, 'INVALID_ARGUMENT', 'The tool name is not allowed.'),
  NAME_MISMATCH: kind(400, 'INVALID_ARGUMENT', 'The name in the body is not the name in the path.'),
  ARGUMENTS_INVALID: kind(400, 'INVALID_ARGUMENT', 'The arguments do not fit the parameters of the tool.'),
  TOKEN_INVALID: kind(
    401,
    'UNAUTHENTICATED',
    'A valid token is needed: send "Authorization: Bearer <token>".',
  ),
  PERMISSION_DENIED: kind(403, 'PERMISSION_DENIED', 'You may not do this.'),
  ROUTE_NOT_FOUND: kind(404, 'NOT_FOUND', 'There is no such route.'),
  TOOL_NOT_FOUND: kind(404, 'NOT_FOUND', 'There is no tool of that name in that layer.'),
  MODULE_UNKNOWN: kind(
    404,
    'NOT_FOUND',
    'The runner does not hold that module; repeat the call with its source.',
  ),
  MODULE_NOT_FOUND: kind(404, 'NOT_FOUND', 'There is no module of that name in that layer.'),
  INVOCATION_NOT_FOUND: kind(
    404,
    'NOT_FOUND',
    'There is no log of that call: it printed nothing, is too long ago, or is not yours.',
  ),
  VERSION_NOT_FOUND: kind(404, 'NOT_FOUND', 'That version is not among the versions kept.'),
  METHOD_NOT_ALLOWED: kind(405, 'INVALID_ARGUMENT', 'The route does not know this method.'),
  NAME_SEALED: kind(409, 'ALREADY_EXISTS', 'The name is sealed by another layer.'),
  NAME_TAKEN: kind(409, 'ALREADY_EXISTS', 'A definition of that name exists in that layer.'),
  MANAGED_BY_MODULE: kind(
    409,
    'FAILED_PRECONDITION',
    'The tool belongs to a module and changes only with it.',
  ),
  LAYER_FULL: kind(409, 'FAILED_PRECONDITION', 'The layer holds as many definitions as it may.'),
  DIGEST_CHANGED: kind(
    409,
    'FAILED_PRECONDITION',
    'The tool has changed: its present digest is not the one that was named.',
  ),
  RUNS_AT_CLIENT: kind(409, 'FAILED_PRECONDITION', 'The tool runs at the client; nothing was run here.'),
  PRECONDITION_FAILED: kind(
    412,
    'FAILED_PRECONDITION',
    'The definition is not in the state the request asks for.',
  ),
  BODY_TOO_LARGE: kind(413, 'INVALID_ARGUMENT', 'The body is larger than the route takes.'),
  ANSWER_TOO_LARGE: kind(
    413,
    'OUT_OF_RANGE',
    'The whole list is too large for one answer; page it with limit.',
  ),
  DEFINITION_INVALID: kind(422, 'INVALID_ARGUMENT', 'The definition is not valid.'),
  SCHEMA_REJECTED: kind(422, 'INVALID_ARGUMENT', 'The schema of the parameters is not admitted.'),
  MODULE_INVALID: kind(422, 'INVALID_ARGUMENT', 'The module does not keep the convention for tool modules.'),
  HEADERS_TOO_LARGE: kind(
    431,
    'INVALID_ARGUMENT',
    'The address and headers are larger than the service takes.',
  ),
  SERVICE_BUSY: kind(
    429,
    'RESOURCE_EXHAUSTED',
    'The service has as much work as it takes; nothing was done. Try again.',
    true,
  ),
  RUNNER_BUSY: kind(429, 'RESOURCE_EXHAUSTED', 'The runner has as many calls as it takes; try again.', true),
  INTERNAL: kind(500, 'INTERNAL', 'The service failed; the log has the reason under the request id.'),
  KIND_NOT_SERVED: kind(
    501,
    'UNIMPLEMENTED',
    'The service does not run tools of that kind; nothing was run.',
  ),
  KEYS_UNAVAILABLE: kind(
    503,
    'UNAVAILABLE',
    'The keys that tokens are checked or signed with can not be had; try again.',
    true,
  ),
  LAYER_UNAVAILABLE: kind(
    503,
    'UNAVAILABLE',
    'A layer could not be read and strict=1 asks for all of them.',
    true,
  ),
  STORE_BUSY: kind(503, 'UNAVAILABLE', 'The store is locked by another program; nothing was written.', true),
  STORE_FULL: kind(503, 'UNAVAILABLE', 'The disk of the store is full; nothing was written.', true),
  STORE_FAILED: kind(503, 'UNAVAILABLE', 'The store could not be reached; nothing was written.', true),
  RUNNER_UNAVAILABLE: kind(503, 'UNAVAILABLE', 'The runner can not be reached; nothing was run.', true),
  ISOLATION_UNAVAILABLE: kind(
    503,
    'UNAVAILABLE',
    'The runner can not isolate the tool as its definition asks; nothing was run.',
  ),
  WORKER_DIED: kind(503, 'UNAVAILABLE', 'The process of the call was lost; the tool may have run.'),
  DEADLINE_EXCEEDED: kind(504, 'DEADLINE_EXCEEDED', 'The tool did not end in time and was killed.'),
  MODULE_BROKEN: ofTool('The module of the tool cannot be imported, or its stored spec is refused now.'),
  TOOL_RAISED: ofTool('The tool raised an exception.'),
  TOOL_CRASHED: ofTool('The tool ended its own process.'),
  RESULT_INVALID: ofTool('The tool returned what JSON has no form for.'),
  RESULT_TOO_LARGE: ofTool('The result of the tool is larger than allowed.'),
  MEMORY_LIMIT: ofTool('The tool needs more memory than it may have.'),
  DISK_LIMIT: ofTool('The tool writes more than its disk quota.'),
  CPU_LIMIT: ofTool('The tool used up its processor time.'),
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof ERROR_CODES

function kind(httpStatus: number, status: string, text: string, retry = false): ErrorKind {
  return { httpStatus, status, retry, text }
}

/** What the tool itself did: an answer, and no fault of the service. */
function ofTool(text: string): ErrorKind {
  return kind(200, 'OK', text)
}
