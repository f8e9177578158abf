import { randomBytes, timingSafeEqual } from 'node:crypto'
import { findBearerToken, tokenInvalid, type Authenticate } from './authenticate.ts'
import type { Principal } from './principal.ts'

const TOKEN = /^[A-Za-z0-9_-]{32,128}$/

/**
 * The names of the files with the two tokens of the embedded server. Only the approver token may decide approvals and write
 * rules.
 */
export const TOKEN_FILES = { local: 'token', approver: 'approver-token' } as const

/** Reads a token of the embedded server. Undefined for a text that breaks LOCAL_TOKEN_RULE. */
export function parseLocalToken(text: string): string | undefined {
  const token = text.trim()
  return TOKEN.test(token) ? token : undefined
}

export const LOCAL_TOKEN_RULE = 'a token is 32 to 128 letters, digits, _ or - (ASCII)'

/** The text of a new token. */
export function newLocalToken(): string {
  return `${randomBytes(32).toString('base64url')}\n`
}

/**
 * Authenticates requests with `TOOLRACK_AUTH=local`. The holder of `token` is the admin `local`. On the routes of the family
 * `workflows`, the holder of `approverToken` is this admin too, and may also approve. `others` authenticates every other token.
 */
export function localAuthentication(
  token: string,
  others: Authenticate = nobody,
  approverToken?: string,
): Authenticate {
  const expected = padded(token, Buffer.allocUnsafe(COMPARED_BYTES))
  const approver =
    approverToken === undefined ? undefined : padded(approverToken, Buffer.allocUnsafe(COMPARED_BYTES))
  const shown = Buffer.allocUnsafe(COMPARED_BYTES)
  return function authenticate(credentials) {
    // A missing token is compared too, so that a missing, a malformed and a wrong token take the same time.
    padded(findBearerToken(credentials.authorization) ?? '', shown)
    const isApprover = approver !== undefined && timingSafeEqual(shown, approver)
    const isOwner = timingSafeEqual(shown, expected)
    if (isApprover && credentials.family === 'workflows') return APPROVER
    return isOwner ? OWNER[credentials.family] : others(credentials)
  }
}

const OWNER = {
  workflows: { kind: 'user', uid: 'local', isAdmin: true, token: 'printed' },
  jobs: { kind: 'job', uid: 'local', isAdmin: true, token: 'printed' },
} as const satisfies Record<string, Principal>

const APPROVER: Principal = { ...OWNER.workflows, mayApprove: true, token: 'approver' }

const nobody: Authenticate = () => {
  throw tokenInvalid()
}

/**
 * How many bytes of two tokens are compared. Every valid token is shorter. A longer token is wrong, so its end need not be
 * compared.
 */
const COMPARED_BYTES = 256

/** Writes the token into a buffer of fixed size, so that all comparisons take the same time. */
function padded(token: string, buffer: Buffer): Buffer {
  buffer.fill(0)
  buffer.writeUInt32BE(token.length)
  buffer.write(token, 4, 'latin1')
  return buffer
}
