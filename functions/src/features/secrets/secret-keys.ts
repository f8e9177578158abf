import { createHash, randomBytes } from 'node:crypto'
import { parseSealingKey, type Sealing } from '../../calls/sealing.ts'
import { parseObject } from '../../parse-object.ts'

/** A key that seals secrets. Its id is stored with each secret. The id is a hash, from which the key cannot be computed. */
export type SecretKey = { readonly id: string; readonly text: string; readonly sealing: Sealing }

/** The most keys at once: the one that writes, and those before it, until a rotation has sealed every secret again. */
const KEYS_MAX = 4

export const SECRET_KEYS_RULE =
  'must be 1 to 4 random keys of 32 bytes in base64, separated by commas, as `openssl rand -base64 32` makes; the first one writes'

/** Makes a new random key. */
export function newSecretKey(): SecretKey {
  const key = secretKey(randomBytes(32).toString('base64'))
  if (!key) throw new Error('a new key is none')
  return key
}

/** Reads the keys in a variable. Undefined for a text that breaks SECRET_KEYS_RULE. */
export function parseSecretKeys(text: string): readonly SecretKey[] | undefined {
  return keysIn(text.split(','))
}

/** Reads the keys in the file of the data folder. Undefined for another text. */
export function parseSecretKeysFile(text: string): readonly SecretKey[] | undefined {
  const { keys } = parseObject(text) ?? {}
  return Array.isArray(keys) ? keysIn(keys) : undefined
}

export function secretKeysFile(keys: readonly Pick<SecretKey, 'text'>[]): string {
  return `${JSON.stringify({ keys: keys.map(({ text }) => text) }, undefined, 2)}\n`
}

function keysIn(texts: readonly unknown[]): readonly SecretKey[] | undefined {
  const keys = texts.map(secretKey)
  const known = keys.filter((key) => key !== undefined)
  const ids = new Set(known.map(({ id }) => id))
  return known.length > 0 && known.length <= KEYS_MAX && ids.size === keys.length ? known : undefined
}

function secretKey(value: unknown): SecretKey | undefined {
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  const sealing = parseSealingKey(text)
  if (!sealing) return undefined
  const id = createHash('sha256').update(`toolrack secrets ${text}`).digest('hex').slice(0, 16)
  return { id, text, sealing }
}

/** The keys of a host. The first one seals, every one opens. */
export class SecretKeys {
  #keys: readonly SecretKey[]
  readonly #save: ((keys: readonly SecretKey[]) => void) | undefined

  /** `save` keeps other keys. Without it, only the operator can change the keys. */
  constructor(keys: readonly SecretKey[], save?: (keys: readonly SecretKey[]) => void) {
    this.#keys = keys
    this.#save = save
  }

  get all(): readonly SecretKey[] {
    return this.#keys
  }

  get first(): SecretKey {
    const [first] = this.#keys
    if (!first) throw new Error('there is no key for secrets')
    return first
  }

  /** True if this process can change the keys. */
  get areKept(): boolean {
    return this.#save !== undefined
  }

  find(id: string): SecretKey | undefined {
    return this.#keys.find((key) => key.id === id)
  }

  /** Keeps these keys from now on. They are saved before they are used. */
  replace(keys: readonly SecretKey[]): void {
    this.#save?.(keys)
    this.#keys = keys
  }
}
