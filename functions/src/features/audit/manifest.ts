import { canonicalJson, isJsonObject, parsedJson, type JsonObject } from '@toolrack/contract'
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { ChainHead } from './record.ts'

/**
 * Signs the chains of one day (UTC). `prev` is the SHA-256 of the text of the manifest before this one. It is null for the first
 * manifest.
 */
export type Manifest = {
  readonly day: string
  readonly prev: string | null
  readonly chains: readonly { readonly instance: string; readonly records: number; readonly head: string }[]
  /** The public key as the member `x` of its JSON Web Key (RFC 8037). */
  readonly publicKey: string
  /** The Ed25519 signature of the canonical JSON without `signature`, as base64url. */
  readonly signature: string
}

/** The key that signs manifests. */
export type AuditKey = { readonly privateKey: KeyObject; readonly publicKey: string }

export const AUDIT_KEY_RULE =
  'must be a private Ed25519 key as a JSON Web Key: {"kty":"OKP","crv":"Ed25519","x":…,"d":…}'

/** Reads a private key. Undefined for a text that breaks AUDIT_KEY_RULE. */
export function parseAuditKey(text: string): AuditKey | undefined {
  const key = parsedJson(text)
  if (!isJsonObject(key) || key['kty'] !== 'OKP' || key['crv'] !== 'Ed25519') return undefined
  try {
    const privateKey = createPrivateKey({ key, format: 'jwk' })
    const { x } = createPublicKey(privateKey).export({ format: 'jwk' })
    return x === undefined || x !== key['x'] ? undefined : { privateKey, publicKey: x }
  } catch {
    return undefined
  }
}

/** The JSON text of a new key. */
export function newAuditKey(): string {
  return `${JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }))}\n`
}

export function manifestText(
  day: string,
  chains: readonly ChainHead[],
  before: string | undefined,
  { privateKey, publicKey }: AuditKey,
): string {
  const body = {
    day,
    prev: before === undefined ? null : manifestHash(before),
    chains: chains.map(({ instance, seq, hash }) => ({ instance, records: seq, head: hash })),
    publicKey,
  }
  const signature = sign(null, Buffer.from(canonicalJson(body)), privateKey).toString('base64url')
  return canonicalJson({ ...body, signature })
}

export function manifestHash(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Reads a manifest. Undefined if the value is none. Does not verify the signature. */
export function parseManifest(value: JsonObject): Manifest | undefined {
  const { day, prev, chains, publicKey, signature } = value
  if (typeof day !== 'string' || typeof publicKey !== 'string' || typeof signature !== 'string')
    return undefined
  if ((prev !== null && typeof prev !== 'string') || !Array.isArray(chains)) return undefined
  const isChains = chains.every(
    (chain: unknown) =>
      isJsonObject(chain) &&
      typeof chain['instance'] === 'string' &&
      typeof chain['records'] === 'number' &&
      typeof chain['head'] === 'string',
  )
  return isChains ? (value as unknown as Manifest) : undefined
}

/** True if the holder of `publicKey` has signed the manifest. */
export function isSigned({ signature, ...body }: Manifest, publicKey: string): boolean {
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' })
    const text = canonicalJson(body)
    return verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64url'))
  } catch {
    return false
  }
}

/** The day of a time in milliseconds since 1970, in UTC. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

/** The day of a manifest. Empty for a damaged manifest, which a verification reports. */
export function dayOfManifest(text: string): string {
  return /"day":"(\d{4}-\d\d-\d\d)"/.exec(text)?.[1] ?? ''
}
