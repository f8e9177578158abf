import { isJsonObject } from '@toolrack/contract'
import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { parseObject } from '../parse-object.ts'

/** A private key of the curve P-256 as a JSON Web Key. */
type JobKey = Readonly<{ kty: 'EC'; crv: 'P-256' } & Record<'kid' | 'x' | 'y' | 'd', string>>

/** The keys of job tokens. The first key signs tokens, every key verifies them. */
export type JobKeys = readonly [JobKey, ...JobKey[]]

/** The most keys in a set: the key that signs, the key before it, and two more for a slow rotation. */
const KEYS_MAX = 4

export const JOB_KEYS_RULE =
  'must be a JSON Web Key Set of 1 to 4 private keys of the curve P-256, each with its own kid; the first signs'

/** Parses a set of private keys. Undefined for a text that breaks `JOB_KEYS_RULE`. */
export function parseJobKeys(text: string): JobKeys | undefined {
  const { keys: sent } = parseObject(text) ?? {}
  const [first, ...others] = Array.isArray(sent) ? sent.map(jobKey) : []
  const keys = [first, ...others]
  const kids = new Set(keys.map((key) => key?.kid))
  if (keys.length > KEYS_MAX || kids.size < keys.length || !keys.every((key) => key !== undefined))
    return undefined
  return keys as [JobKey, ...JobKey[]]
}

/** The JSON text of a new key set with one key. */
export function newJobKeys(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = { ...privateKey.export({ format: 'jwk' }), kid: randomBytes(8).toString('hex') }
  return `${JSON.stringify({ keys: [key] }, undefined, 2)}\n`
}

function jobKey(value: unknown): JobKey | undefined {
  if (!isJsonObject(value)) return undefined
  const { kty, crv, kid, x, y, d } = value
  if (kty !== 'EC' || crv !== 'P-256' || typeof kid !== 'string' || kid === '') return undefined
  if (typeof x !== 'string' || typeof y !== 'string' || typeof d !== 'string') return undefined
  const key = { kty, crv, kid, x, y, d } as const
  try {
    createPrivateKey({ key, format: 'jwk' })
    return key
  } catch {
    return undefined
  }
}
