import { afterAll } from '@jest/globals'
import type { ErrorBody, InvocationResult, ToolDefinition } from '@toolrack/contract'
import type { GrantedTool } from '../../functions/src/access/principal.ts'
import type { ServiceParts } from '../../functions/src/hosts/services.ts'
import { inProcess } from './in-process.ts'
import { readingRunner } from './reading-runner.ts'
import { NOW, signed } from './signed-tokens.ts'
import { deployedAccess, FIREBASE, JOB, OIDC } from './token-kinds.ts'

/** The callers of a route: Ann, another user, an admin, and jobs that act for Ann by an account or by a token. */
export type Asker = 'ann' | 'bob' | 'admin' | 'account' | 'token' | 'nobody'

export type Asked = {
  /** A text is sent unchanged, any other value as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** The parts of an answer that tests compare. */
export type Answered = {
  readonly status: number
  /** The code of an error, or of a failed call. */
  readonly code: string | undefined
  readonly headers: Headers
  // It has no closer type, because the tests compare it unchanged.
  readonly body: Record<string, unknown>
}

/** A service for the tests of one resource's routes, in the test's own process. It is closed after the tests. */
export async function routeService(...options: Parameters<typeof openRouteService>) {
  const { ask, close } = await openRouteService(...options)
  afterAll(close)
  return ask
}

/** Like `routeService`, but the caller closes the service. */
export async function openRouteService(
  files: readonly ToolDefinition[] = [],
  parts: Partial<ServiceParts> = {},
  granted: readonly GrantedTool[] = [],
) {
  const access = deployedAccess(() => NOW)
  const service = await inProcess(access, files, () => NOW, { runner: readingRunner(), ...parts })
  const tokens = {
    ann: signed(FIREBASE, { sub: 'ann' }),
    bob: signed(FIREBASE, { sub: 'bob' }),
    admin: signed(FIREBASE, { sub: 'root', toolrackAdmin: true }),
    account: signed(OIDC),
    token: signed(JOB, { uid: 'ann', tools: granted.length > 0 ? granted : JOB.claims['tools'] }),
    nobody: 'wrong',
  } as const

  /** Sends a request below the family of the caller's token: `GET /tools/list`. A path below `/api` or `/health` is the whole path. */
  async function ask(who: Asker, request: string, { body, headers }: Asked = {}): Promise<Answered> {
    const [method = '', path = ''] = request.split(' ')
    const family = who === 'account' || who === 'token' ? '/jobs' : '/workflows'
    const isRoot = path.startsWith('/api') || path.startsWith('/health')
    const answer = await fetch(`${service.url}${isRoot ? '' : family}${path}`, {
      method,
      body: body === undefined || typeof body === 'string' ? (body ?? null) : JSON.stringify(body),
      headers: { Authorization: `Bearer ${tokens[who]}`, 'X-User-Id': 'ann', ...headers },
    })
    const text = await answer.text()
    const read = readAnswer(answer, text)
    return { status: answer.status, code: codeOf(read), headers: answer.headers, body: read }
  }
  return { ask, close: () => service[Symbol.asyncDispose]() }
}

/** The body as JSON. An event stream becomes an object with the data of its events. */
function readAnswer({ headers }: Response, text: string): Record<string, unknown> {
  if (!headers.get('content-type')?.startsWith('text/event-stream'))
    return (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>
  const data = text.split('\n').filter((line) => line.startsWith('data: '))
  return { events: data.map((line) => JSON.parse(line.slice('data: '.length)) as unknown) }
}

function codeOf(body: object): string | undefined {
  if ('error' in body && typeof body.error === 'object') return (body as ErrorBody).error.details[0]?.reason
  const { code } = body as Partial<Extract<InvocationResult, { readonly resultType: 'failure' }>>
  return code
}

/** A request, and the status and code of its answer. */
export type RefusedRow = readonly [what: string, who: Asker, request: string, asked: Asked, expected: string]
