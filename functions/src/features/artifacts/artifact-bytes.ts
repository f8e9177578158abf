import { randomBytes } from 'node:crypto'

/** A part of a content. `end` is the last byte of the part, as in the header `Range`. Both count from 0. */
export type ByteRange = { readonly start: number; readonly end: number }

/** What was written: the number of bytes, and their SHA-256 in hexadecimal digits. */
export type WrittenBytes = { readonly bytes: number; readonly sha256: string }

/**
 * Keeps the bytes of artifacts. The facts about an artifact, such as its owner, are documents. A key is what `artifactKey` makes,
 * so it never has a text of a user. No method keeps a whole content in memory. Rejects with STORE_FULL if there is no room, and
 * with STORE_FAILED for other faults of the store. Every adapter passes `test/support/artifact-bytes.contract.ts`.
 */
export type ArtifactBytes = {
  /**
   * Writes a content under a new key, and resolves when a crash cannot lose it any more. Keeps all of it or nothing: if `content`
   * throws, the write rejects with the same error, and nothing is kept. Rejects with BODY_TOO_LARGE if the content has more than
   * `bytesMax` bytes, and does not read the rest. Always ends the iteration of `content`.
   */
  readonly write: (key: string, content: AsyncIterable<Uint8Array>, bytesMax: number) => Promise<WrittenBytes>
  /**
   * The content, or the part of it in `range`, in pieces of at most PIECE_BYTES_MAX. Undefined if the key has no content. A range
   * ends at the end of the content. The store holds no connection and no open file before the first piece is read, and none after
   * the last piece, or after the reader has stopped. A read of a content that is removed meanwhile may fail.
   */
  readonly read: (key: string, range?: ByteRange) => Promise<AsyncIterable<Uint8Array> | undefined>
  /** Removes the contents of these keys. A key without content is no error. */
  readonly remove: (keys: readonly string[]) => Promise<void>
  /**
   * Removes all contents whose keys were made before this time, in milliseconds since 1970, and what was left of interrupted
   * writes. Returns how many contents it has removed. Reads only the keys, and only a part of them at a time.
   */
  readonly removeMadeBefore: (ms: number) => Promise<number>
  /** Ends what the store has begun. To be called once, when no method runs any more. */
  readonly close: () => Promise<void>
}

/** All pieces of a content in one. Only for a content that is known to be small. */
export async function wholeContent(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of content) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** The most bytes of one piece of a content that is read. This is the size of a piece that Node reads from a file. */
export const PIECE_BYTES_MAX = 64 * 1024

/** A UUID of version 7 (RFC 9562, 5.7). Its first 12 digits are a time, so keys in their order are also in the order of time. */
const KEY = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

export function isArtifactKey(text: string): boolean {
  return KEY.test(text)
}

/** A new key, made at this time (milliseconds since 1970). 74 bits of it are random, so nobody can guess it. */
export function artifactKey(nowMs: number): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(Math.max(0, Math.floor(nowMs)), 0, 6)
  bytes.writeUInt8(0x70 | (bytes.readUInt8(6) & 0x0f), 6)
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** The time in a key, in milliseconds since 1970. */
export function keyTimeMs(key: string): number {
  return Number.parseInt(key.slice(0, 8) + key.slice(9, 13), 16)
}

/**
 * The first 13 characters of all keys that are made at this time (milliseconds since 1970). A key that is less than this text was
 * made before.
 */
export function keyStart(ms: number): string {
  const digits = Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}`
}

/** Throws a TypeError for a text that `artifactKey` has not made. An adapter calls it before it makes a path of the key. */
export function checkKey(key: string): void {
  if (!isArtifactKey(key)) throw new TypeError('an artifact has no such key')
}
