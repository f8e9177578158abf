import { ToolrackError } from '@toolrack/contract'

/**
 * The most bytes of a body with one item (`single`), and of a body with many (`bulk`). The source of a module may have as many
 * bytes as one item.
 */
export const BODY_BYTES_MAX = { single: 256 * 1024, bulk: 1024 * 1024 } as const

/** A kind of body: its name in messages, how large it may be, and what a sender can do whose body is larger. */
export type DeclaredBody = {
  readonly what: string
  readonly size: keyof typeof BODY_BYTES_MAX
  readonly wayOut: string
}

/** All kinds of bodies. The message about a body that is too large has the limit of its kind, and says what the sender can do. */
const BODY_KINDS = {
  call: single(
    'The body of a call',
    'Let the tool work on a part of the data at a time, or let it read the data from a place that the arguments name.',
  ),
  calls: bulk('A body with calls', 'Send some of the calls at a time.'),
  results: bulk(
    'A body with results',
    'Leave out the data of the results, or complete only some of the calls at a time.',
  ),
  definition: single(
    'A body with a definition',
    'Shorten its descriptions or its schema. Several definitions go to POST …/tools/defs, which takes 1 MB.',
  ),
  definitions: bulk('A body with definitions', 'Send them in several requests.'),
  source: single(
    'A body with the Python file of a module',
    'Split it into several files, which may have 512 KB together, or move data out of it.',
  ),
  files: bulk(
    'A body with a module in JSON',
    'Its files may have 512 KB together, and one Python file 256 KB. Split the module, or move data out of it.',
  ),
  agent: single('A body with an agent', 'Send some of the tools at a time, with POST …/agents/{id}/tools.'),
  session: bulk('A body with a session', 'Name fewer tools, or "all".'),
  scope: single('A body with a scope', 'Write globs or groups in place of names.'),
  rules: single(
    'A body with rules',
    'Write globs in place of names, or give some of the rules to another owner.',
  ),
  decision: single('A body with a decision', 'Without arguments in it, the call keeps its own.'),
  token: single('A body with the tools of a job token', 'A token names at most 64 tools.'),
  version: single('A body with a version', 'It needs only one field.'),
  simulation: single('A body with a call to simulate', 'Leave out what no rule compares.'),
  wrap: bulk(
    'A body with the layers of a prompt',
    'Cut their texts before, or leave out the layers that come last.',
  ),
  none: single('The body of this request', 'Leave it out, because the route reads none.'),
} as const satisfies Readonly<Record<string, DeclaredBody>>

/** One of the kinds above, or a kind that a feature declares for its own body. */
export type BodyKind = keyof typeof BODY_KINDS | DeclaredBody

export function declaredBody(kind: BodyKind): DeclaredBody {
  return typeof kind === 'string' ? BODY_KINDS[kind] : kind
}

/** The error for a body that has more bytes than its kind allows. */
export function bodyTooLarge(kind: BodyKind): ToolrackError {
  const { what, size, wayOut } = declaredBody(kind)
  const limit = size === 'bulk' ? '1 MB' : '256 KB'
  return new ToolrackError('BODY_TOO_LARGE', `${what} may have at most ${limit}. ${wayOut}`)
}

function single(what: string, wayOut: string): DeclaredBody {
  return { what, size: 'single', wayOut }
}

function bulk(what: string, wayOut: string): DeclaredBody {
  return { what, size: 'bulk', wayOut }
}
