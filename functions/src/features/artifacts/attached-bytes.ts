import { ToolrackError } from '@toolrack/contract'
import { shareOfHeap, UserBytes } from '../../user-bytes.ts'

/**
 * How many bytes of memory one byte of an attached file takes until its call ends: itself, 4/3 in base64 in the body of the
 * request, and as many in the buffers of a connection from which the runner does not read yet. That is 3.7.
 */
const MEMORY_FACTOR = 4

/** The part of the heap's maximum size that the attached files of all users may take: 16 of the largest calls with 4 GB. */
const HEAP_SHARE = 1 / 8

/** A user who has files in memory gets room for more only up to this part of the room that is left then. */
const SHARE_OF_REST = 1 / 2

/** The least bytes that they may take, also with a small heap: those of two of the largest calls, with files of 8 MB each. */
const MEMORY_BYTES_MIN = 64 * 1024 * 1024

/** The most bytes of memory that the attached files of all users take, if the heap may grow to `heapBytesMax`. */
export function attachedBudget(heapBytesMax?: number): number {
  return shareOfHeap(HEAP_SHARE, MEMORY_BYTES_MIN, heapBytesMax)
}

/**
 * Bounds the memory for the files of the calls of all users that run or wait. Each process has one instance. Every user gets room
 * for one call before others get room for many: the more is used, the less one user may have.
 */
export class AttachedBytes {
  readonly #bytesMax: number
  readonly #bytes = new UserBytes()

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /**
   * Runs `act`, which loads files of so many bytes, and counts them until it ends. Throws SERVICE_BUSY, and does not run it, if
   * there is no room for them. Otherwise rejects with the error of `act`.
   */
  async run<Result>(user: string, fileBytes: number, act: () => Promise<Result>): Promise<Result> {
    if (fileBytes === 0) return act()
    const bytes = fileBytes * MEMORY_FACTOR
    const own = this.#bytes.of(user)
    const left = this.#bytesMax - this.#bytes.total - bytes
    if (left < 0) throw new ToolrackError('SERVICE_BUSY', own > 0 ? USER_FULL : ALL_FULL)
    if (own > 0 && own + bytes > left * SHARE_OF_REST) throw new ToolrackError('SERVICE_BUSY', USER_FULL)
    this.#bytes.add(user, bytes)
    try {
      return await act()
    } finally {
      this.#bytes.add(user, -bytes)
    }
  }
}

const USER_FULL =
  'Your calls that run or wait hold as many bytes of artifacts as they may; nothing was run. Try again when some have ended.'
const ALL_FULL =
  'The calls that run or wait hold as many bytes of artifacts as the service has room for; nothing was run. Try again.'
