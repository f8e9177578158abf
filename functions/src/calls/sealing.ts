import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** The record that a sealed text belongs to. A text that was sealed for one record cannot be opened for another record. */
export type SealedPlace = { readonly kind: string; readonly uid: string; readonly id: string }

/** Seals texts that are kept and may hold secrets. */
export type Sealing = {
  /**
   * Encrypts the text (AES-256-GCM). The sealed text is printable ASCII. It is a third longer than the UTF-8 bytes of the text.
   */
  readonly seal: (text: string, place: SealedPlace) => string
  /** Decrypts a sealed text. Undefined if it was not sealed with this key for this record, or was changed. */
  readonly open: (sealed: string, place: SealedPlace) => string | undefined
}

export const SEALING_KEY_RULE =
  'must be a random key of 32 bytes in base64, as `openssl rand -base64 32` makes'

/** The UTF-8 bytes of the text in a sealed text, without opening it. */
export function bytesOfSealed(sealed: string): number {
  const base64 = Math.max(0, sealed.length - SEALED.length)
  return Math.max(0, Math.floor((base64 * 3) / 4) - NONCE_BYTES - TAG_BYTES)
}

const KEY_BYTES = 32
/** The beginning of every sealed text. It names the version of the format. */
const SEALED = 's1.'
/** The length of a nonce, in bytes. NIST recommends it for GCM (SP 800-38D, 8.2). */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** True if the text has the form of a sealed text. */
export function isSealed(text: string): boolean {
  return /^s1\.[\w-]{38,}$/.test(text)
}

/** Reads a key. Undefined for a text that breaks SEALING_KEY_RULE. */
export function parseSealingKey(text: string): Sealing | undefined {
  const trimmed = text.trim()
  const key = Buffer.from(trimmed, 'base64')
  // Node ignores characters that are not base64. So it would read a mistyped key as another key.
  return key.length === KEY_BYTES && key.toString('base64') === trimmed ? sealingWith(key) : undefined
}

/** The text of a new key. */
export function newSealingKey(): string {
  return `${randomBytes(KEY_BYTES).toString('base64')}\n`
}

function sealingWith(key: Buffer): Sealing {
  return {
    seal(text, place) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(nameOf(place))
      const parts = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
      return SEALED + Buffer.concat(parts).toString('base64url')
    },
    open(sealed, place) {
      const base64 = sealed.slice(SEALED.length)
      const bytes = Buffer.from(base64, 'base64url')
      if (!sealed.startsWith(SEALED) || bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
      // Node ignores what is no base64url, and the last bits, so many texts would open as one.
      if (bytes.toString('base64url') !== base64) return undefined
      const nonce = bytes.subarray(0, NONCE_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(nameOf(place)).setAuthTag(bytes.subarray(-TAG_BYTES))
      try {
        const body = bytes.subarray(NONCE_BYTES, -TAG_BYTES)
        return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
      } catch {
        return undefined
      }
    },
  }
}

function nameOf({ kind, uid, id }: SealedPlace): Buffer {
  return Buffer.from(JSON.stringify([kind, uid, id]))
}
