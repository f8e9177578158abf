import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import type { JsonWebKey, KeyObject } from 'node:crypto'
import type { JobKeys } from '../../functions/src/access/job-keys.ts'
import { parseJobKeys } from '../../functions/src/access/job-keys.ts'

/** The time in tests of tokens, in seconds and in milliseconds. */
export const NOW_SECONDS = Date.UTC(2026, 0, 2, 3, 4, 5) / 1_000
export const NOW = NOW_SECONDS * 1_000

export type Part = { readonly [name: string]: unknown }
/** A key with its id, which is in the header of a token. */
export type SigningKey = {
  readonly kid: string
  readonly alg: 'RS256' | 'ES256'
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

export function rsaKey(kid: string): SigningKey {
  return { kid, alg: 'RS256', ...generateKeyPairSync('rsa', { modulusLength: 2_048 }) }
}

export function ecKey(kid: string): SigningKey {
  return { kid, alg: 'ES256', ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) }
}

/** The public key in the form of a key set. */
export function publicJwk({ kid, alg, publicKey }: SigningKey): JsonWebKey & { kty: string } {
  return { kty: '', ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' }
}

/** The keys in the format of `TOOLRACK_JOB_KEYS`. */
export function jobKeysText(...keys: readonly SigningKey[]): string {
  return JSON.stringify({
    keys: keys.map(({ kid, privateKey }) => ({ ...privateKey.export({ format: 'jwk' }), kid })),
  })
}

export function jobKeysOf(...keys: readonly SigningKey[]): JobKeys {
  const parsed = parseJobKeys(jobKeysText(...keys))
  if (!parsed) throw new Error('the keys of this test are not job keys')
  return parsed
}

/** A kind of token: the parts of a valid token, and the routes that accept it. */
export type TokenKind = {
  readonly name: 'Firebase' | 'OIDC' | 'job'
  readonly family: 'workflows' | 'jobs'
  readonly key: SigningKey
  readonly typ: string
  readonly lifetimeSecondsMax: number
  readonly claims: Part
}

/** A token of the kind. `claims` and `header` replace its own fields. The value `undefined` removes a field. */
export function signed(kind: TokenKind, claims: Part = {}, header: Part = {}, key = kind.key): string {
  const protectedHeader = { alg: key.alg, kid: kind.key.kid, typ: kind.typ, ...header }
  return signedText(JSON.stringify(protectedHeader), JSON.stringify({ ...kind.claims, ...claims }), key)
}

/** Signs a header and a payload given as texts, so that they can have a form that JSON.stringify never writes. */
export function signedText(header: string, payload: string, { alg, privateKey }: SigningKey): string {
  const input = `${base64(header)}.${base64(payload)}`
  const key = alg === 'ES256' ? { key: privateKey, dsaEncoding: 'ieee-p1363' as const } : privateKey
  return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`
}

/** A token signed with a secret by HS256. */
export function hmacSigned(header: Part, claims: Part, secret: string | Buffer): string {
  const input = `${base64(JSON.stringify(header))}.${base64(JSON.stringify(claims))}`
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

export function unsigned(header: Part, claims: Part): string {
  return `${base64(JSON.stringify(header))}.${base64(JSON.stringify(claims))}.`
}

export function base64(text: string): string {
  return Buffer.from(text).toString('base64url')
}
