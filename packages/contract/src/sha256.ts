/**
 * The SHA-256 (FIPS 180-4) of a text's UTF-8 bytes, as 64 lower-case hex digits. Our own, because a client needs it at
 * once wherever it runs: the platforms' own are Node's alone or answer later, and a library would be half of the client.
 */
export function sha256Hex(text: string): string {
  const blocks = paddedBlocks(new TextEncoder().encode(text))
  const state = Int32Array.from(PRIMES.slice(0, 8), (prime) => fractionBits(Math.sqrt(prime)))
  for (let offset = 0; offset < blocks.byteLength; offset += 64) mix(state, blocks, offset)
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

/** The bytes, a one, zeros and the length in bits, in whole blocks of 64 bytes. */
function paddedBlocks(bytes: Uint8Array): DataView {
  const padded = new Uint8Array(((bytes.length + 72) >> 6) << 6)
  padded.set(bytes)
  padded[bytes.length] = 0x80
  const blocks = new DataView(padded.buffer)
  blocks.setUint32(padded.length - 8, bytes.length / 2 ** 29)
  blocks.setUint32(padded.length - 4, bytes.length << 3)
  return blocks
}

const PRIMES = firstPrimes(64)
/** 35 bits of the root are looked at, and every engine gives 52. */
const CONSTANTS = Int32Array.from(PRIMES, (prime) => fractionBits(Math.cbrt(prime)))
const SCHEDULE = new Int32Array(64)

/** Takes one block into the state. */
function mix(state: Int32Array, blocks: DataView, offset: number): void {
  for (let index = 0; index < 16; index += 1) SCHEDULE[index] = blocks.getInt32(offset + 4 * index)
  for (let index = 16; index < 64; index += 1) {
    const early = at(SCHEDULE, index - 15)
    const late = at(SCHEDULE, index - 2)
    const earlySum = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3)
    const lateSum = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10)
    SCHEDULE[index] = at(SCHEDULE, index - 16) + earlySum + at(SCHEDULE, index - 7) + lateSum
  }
  // By index: taking the state apart as a list costs as much as the rounds.
  let a = at(state, 0)
  let b = at(state, 1)
  let c = at(state, 2)
  let d = at(state, 3)
  let e = at(state, 4)
  let f = at(state, 5)
  let g = at(state, 6)
  let h = at(state, 7)
  for (let round = 0; round < 64; round += 1) {
    const sum = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)
    const first = (h + sum + ((e & f) ^ (~e & g)) + at(CONSTANTS, round) + at(SCHEDULE, round)) | 0
    const second = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  const mixed = [a, b, c, d, e, f, g, h]
  for (let index = 0; index < 8; index += 1) state[index] = at(state, index) + (mixed[index] as number)
}

function turned(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits))
}

/** Every index is inside. */
function at(words: Int32Array, index: number): number {
  return words[index] as number
}

/** The first 32 bits behind the point. */
function fractionBits(root: number): number {
  return (root % 1) * 2 ** 32
}

function firstPrimes(count: number): readonly number[] {
  const primes: number[] = []
  for (let number = 2; primes.length < count; number += 1)
    if (primes.every((prime) => number % prime > 0)) primes.push(number)
  return primes
}
