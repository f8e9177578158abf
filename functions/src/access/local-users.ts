import { isJsonObject } from '@toolrack/contract'
import { createHash, randomBytes } from 'node:crypto'
import { parseObject } from '../parse-object.ts'
import { findBearerToken, type Authenticate } from './authenticate.ts'
import { isUid, type User } from './principal.ts'

/**
 * A user of the embedded server, as `users.json` keeps it. The file has only hashes of the tokens, so nobody can read a token
 * there.
 */
export type LocalUser = {
  readonly name: string
  readonly isAdmin: boolean
  /** The SHA-256 of the user's token, in hex. `approverToken` is a hash too. */
  readonly token: string
  readonly approverToken: string
}

export type LocalTokens = { readonly token: string; readonly approverToken: string }

/** The most users of one embedded server. `users.json` is read whole after each change, so it must stay small. */
export const LOCAL_USERS_MAX = 1_000

export const LOCAL_USERS_RULE =
  'must be {"users": [{"name", "isAdmin", "token", "approverToken"}]}, as npm run users writes it, with a user once and hashes of its tokens'

/** Reads the text of a users file. Undefined for a text that breaks `LOCAL_USERS_RULE`. */
export function parseLocalUsers(text: string): readonly LocalUser[] | undefined {
  const { users, ...rest } = parseObject(text) ?? {}
  if (!Array.isArray(users) || users.length > LOCAL_USERS_MAX || Object.keys(rest).length > 0)
    return undefined
  const read = users.map(localUser)
  const names = new Set(read.map((user) => user?.name))
  return names.size === read.length && read.every((user) => user !== undefined) ? read : undefined
}

function localUser(value: unknown): LocalUser | undefined {
  if (!isJsonObject(value)) return undefined
  const { name, isAdmin, token, approverToken, ...rest } = value
  const isWhole = isUid(name) && typeof isAdmin === 'boolean' && isHash(token) && isHash(approverToken)
  if (!isWhole || Object.keys(rest).length > 0 || token === approverToken) return undefined
  return { name, isAdmin, token, approverToken }
}

function isHash(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
}

/** The text of a users file. */
export function localUsersText(users: readonly LocalUser[]): string {
  return `${JSON.stringify({ users }, undefined, 2)}\n`
}

/**
 * Makes a user with new tokens. `user` has only the hashes of the tokens, so the result is the only place where they can be read.
 */
export function newLocalUser(name: string, isAdmin: boolean): { user: LocalUser; tokens: LocalTokens } {
  const tokens = { token: newToken(), approverToken: newToken() }
  const [token = '', approverToken = ''] = [tokens.token, tokens.approverToken].map(hashOf)
  return { user: { name, isAdmin, token, approverToken }, tokens }
}

function newToken(): string {
  return randomBytes(32).toString('base64url')
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/** Finds a user by the hash of a token. Each user is in the map twice: under the hash of each of their two tokens. */
export type LocalUserMap = ReadonlyMap<string, User>

export function localUserMap(users: readonly LocalUser[]): LocalUserMap {
  return new Map(
    users.flatMap(({ name, isAdmin, token, approverToken }): readonly (readonly [string, User])[] => {
      const user = { kind: 'user', uid: name, isAdmin } as const
      return [
        [token, { ...user, token: 'printed' }],
        [approverToken, { ...user, mayApprove: true, token: 'approver' }],
      ]
    }),
  )
}

/**
 * Authenticates the users of an embedded server. As with Firebase, the token of a user is not valid on the routes of the family
 * `jobs`. `others` authenticates every other token. The hash of the sent token is looked up, so the time of this lookup reveals
 * nothing about the valid tokens.
 */
export function localUsersAuthentication(users: () => LocalUserMap, others: Authenticate): Authenticate {
  return function authenticate(credentials) {
    const token = findBearerToken(credentials.authorization)
    const user = token === undefined ? undefined : users().get(hashOf(token))
    return user && credentials.family === 'workflows' ? user : others(credentials)
  }
}
