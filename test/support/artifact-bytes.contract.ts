import { afterEach, expect, test } from '@jest/globals'
import { ToolrackError } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import {
  artifactKey,
  PIECE_BYTES_MAX,
  wholeContent,
  type ArtifactBytes,
  type ByteRange,
} from '../../functions/src/features/artifacts/artifact-bytes.ts'

export type BytesHarness = {
  /** The store as two instances of the service have it, or the same store twice if only one instance can use it. */
  readonly stores: readonly [ArtifactBytes, ArtifactBytes]
  /** How many contents there are, and how many parts of unfinished writes. */
  readonly left: () => Promise<{ readonly contents: number; readonly unfinished: number }>
  readonly dispose: () => Promise<void>
}

const START_MS = Date.parse('2026-01-02T03:04:05.678Z')
const MAX = 10 * 1024 * 1024

async function* pieces(...texts: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) {
    await Promise.resolve()
    yield typeof text === 'string' ? Buffer.from(text) : text
  }
}

/** The content under a key, or undefined. */
export async function contentOf(
  store: ArtifactBytes,
  key: string,
  range?: ByteRange,
): Promise<Buffer | undefined> {
  const found = await store.read(key, range)
  return found && wholeContent(found)
}

const sha256 = (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex')

const key = (laterMs = 0) => artifactKey(START_MS + laterMs)

/** What every store of the bytes of artifacts guarantees. */
export function artifactBytesContract(open: () => Promise<BytesHarness>): void {
  let opened: BytesHarness | undefined
  afterEach(async () => {
    await opened?.dispose()
    opened = undefined
  })
  async function two() {
    opened = await open()
    return [...opened.stores, opened] as const
  }

  test('a content is read as it was written, whole and in parts, by the other instance too', async () => {
    const [one, other] = await two()
    const [at, empty] = [key(), key()]
    expect(await one.write(at, pieces('0123', '', '456789'), MAX)).toEqual({
      bytes: 10,
      sha256: sha256('0123456789'),
    })
    expect(await one.write(empty, pieces(), MAX)).toEqual({ bytes: 0, sha256: sha256('') })
    const parts: readonly [ByteRange | undefined, string][] = [
      [undefined, '0123456789'],
      [{ start: 0, end: 0 }, '0'],
      [{ start: 3, end: 6 }, '3456'],
      [{ start: 9, end: 9 }, '9'],
      [{ start: 8, end: 100 }, '89'],
      [{ start: 0, end: 9 }, '0123456789'],
    ]
    for (const [range, text] of parts) expect((await contentOf(other, at, range))?.toString()).toBe(text)
    expect((await contentOf(other, empty))?.length).toBe(0)
  })

  test('a large content comes in pieces, and its bytes are the same', async () => {
    const [one, other] = await two()
    const at = key()
    const piece = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, place) => place % 251))
    const whole = Buffer.concat([piece, piece, piece])
    expect(await one.write(at, pieces(piece, piece, piece), MAX)).toEqual({
      bytes: whole.length,
      sha256: sha256(whole),
    })
    const sizes: number[] = []
    for await (const part of (await other.read(at)) ?? []) sizes.push(part.length)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(PIECE_BYTES_MAX)
    expect(sha256((await contentOf(other, at)) ?? '')).toBe(sha256(whole))
    const range = { start: 70_000, end: 650_000 }
    expect((await contentOf(other, at, range))?.equals(whole.subarray(70_000, 650_001))).toBe(true)
  })

  test('a key without content is not found, and what is no key is refused', async () => {
    const [one] = await two()
    expect(await one.read(key())).toBeUndefined()
    await one.remove([key()])
    for (const bad of ['', '..', '../../token', 'a/b', `${key()}/..`, key().toUpperCase(), `${key()}\0`]) {
      await expect(one.read(bad)).rejects.toThrow(TypeError)
      await expect(one.write(bad, pieces('x'), MAX)).rejects.toThrow(TypeError)
      await expect(one.remove([bad])).rejects.toThrow(TypeError)
    }
  })

  test('a content above the limit, and one that breaks off, leave nothing', async () => {
    const [one, other, { left }] = await two()
    const [large, broken] = [key(), key()]
    let isEnded = false
    async function* endless() {
      try {
        for (;;) yield* pieces('x'.repeat(1_000))
      } finally {
        isEnded = true
      }
    }
    await expect(one.write(large, endless(), 10_500)).rejects.toMatchObject({ code: 'BODY_TOO_LARGE' })
    expect(isEnded).toBe(true)
    async function* breaking() {
      yield* pieces('a part')
      throw new ToolrackError('CANCELLED')
    }
    await expect(one.write(broken, breaking(), MAX)).rejects.toMatchObject({ code: 'CANCELLED' })
    for (const at of [large, broken]) expect(await other.read(at)).toBeUndefined()
    expect(await left()).toEqual({ contents: 0, unfinished: 0 })
    expect(await one.write(key(), pieces('x'.repeat(10)), 10)).toMatchObject({ bytes: 10 })
  })

  test('a content is found only when it is whole', async () => {
    const [one, other] = await two()
    const at = key()
    let isFoundEarly = true
    async function* asking() {
      yield* pieces('first ')
      isFoundEarly = (await other.read(at)) !== undefined
      yield* pieces('second')
    }
    await one.write(at, asking(), MAX)
    expect(isFoundEarly).toBe(false)
    expect((await contentOf(other, at))?.toString()).toBe('first second')
  })

  test('removed contents are gone, and others stay', async () => {
    const [one, other, { left }] = await two()
    const keys = [key(), key(), key()] as const
    for (const at of keys) await one.write(at, pieces(at), MAX)
    await other.remove([keys[0], keys[1], key()])
    for (const at of keys.slice(0, 2)) expect(await one.read(at)).toBeUndefined()
    expect((await contentOf(one, keys[2]))?.toString()).toBe(keys[2])
    expect((await left()).contents).toBe(1)
  })

  test('contents that were made before a time are removed, however many there are, and no others', async () => {
    const [one, other, { left }] = await two()
    const dayMs = 24 * 60 * 60 * 1_000
    const old = Array.from({ length: 40 }, (_, at) => key(Math.floor((at * dayMs) / 40)))
    const young = [key(dayMs), key(dayMs + 1), key(7 * dayMs)]
    for (const at of [...old, ...young]) await one.write(at, pieces(at), MAX)
    expect(await other.removeMadeBefore(START_MS)).toBe(0)
    expect(await other.removeMadeBefore(START_MS + dayMs)).toBe(old.length)
    for (const at of old) expect(await one.read(at)).toBeUndefined()
    for (const at of young) expect((await contentOf(one, at))?.toString()).toBe(at)
    expect(await other.removeMadeBefore(START_MS + 8 * dayMs)).toBe(young.length)
    expect(await left()).toEqual({ contents: 0, unfinished: 0 })
  })

  test('a reader that stops early, and one that never begins, leave nothing open', async () => {
    const [one] = await two()
    const at = key()
    await one.write(at, pieces(Buffer.alloc(1_000_000)), MAX)
    for (let times = 0; times < 200; times += 1) {
      for await (const piece of (await one.read(at)) ?? []) {
        expect(piece.length).toBeGreaterThan(0)
        break
      }
      expect(await one.read(at)).toBeDefined()
    }
    expect((await contentOf(one, at))?.length).toBe(1_000_000)
  })

  test('many contents are written at once', async () => {
    const [one, other] = await two()
    const keys = Array.from({ length: 30 }, () => key())
    await Promise.all(keys.map((at, place) => (place % 2 ? one : other).write(at, pieces(at, at), MAX)))
    for (const at of keys) expect((await contentOf(one, at))?.toString()).toBe(at + at)
  })
}
