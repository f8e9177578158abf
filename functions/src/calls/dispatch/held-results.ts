import { ToolrackError } from '@toolrack/contract'
import type { InvocationResult } from '@toolrack/contract'
import { getHeapStatistics } from 'node:v8'
import { JsonText } from '../../tools/json/json-text.ts'
import type { ResultData } from '../pipeline/call.ts'
import { RESULT_BYTES_MAX } from '../pipeline/run-tool.ts'

const HEAP_SHARE = 1 / 16
/** So that the largest answer, of 64 calls, can be held twice. */
const BYTES_MIN = 32 * 1024 * 1024

/** Bytes that the results of one user may have in a heap that may grow to `heapBytesMax`; V8's own limit by default. */
export function resultBudget(heapBytesMax = getHeapStatistics().heap_size_limit): number {
  return Math.max(BYTES_MIN, Math.floor(heapBytesMax * HEAP_SHARE))
}

/** Bounds the results of dispatched calls that are held for each user until their answers have been read, in bytes. */
export class HeldResults {
  readonly #bytesPerUser: number
  readonly #bytesOf = new Map<string, number>()

  constructor(bytesPerUser = resultBudget()) {
    this.#bytesPerUser = bytesPerUser
  }

  /** Begins a dispatch. Throws SERVICE_BUSY when as much is held for its user as may be. */
  begin(user: string): Holding {
    if (this.bytes(user) >= this.#bytesPerUser) throw new ToolrackError('SERVICE_BUSY', USER_FULL)
    return new Holding((more) => this.#add(user, more))
  }

  /** Bytes that are held for a user now. */
  bytes(user: string): number {
    return this.#bytesOf.get(user) ?? 0
  }

  /** False, and nothing is added, where it would be more than may be held. */
  #add(user: string, more: number): boolean {
    const bytes = this.bytes(user) + more
    if (more > 0 && bytes > this.#bytesPerUser) return false
    if (bytes > 0) this.#bytesOf.set(user, bytes)
    else this.#bytesOf.delete(user)
    return true
  }
}

/** The results of one dispatch. */
export class Holding {
  readonly #add: (more: number) => boolean
  #bytes = 0
  #isOver = false

  constructor(add: (more: number) => boolean) {
    this.#add = add
  }

  /**
   * Runs a call whose result is held until `giveBack`. While it runs, the largest result is counted for it: otherwise calls
   * that run at the same time would go beyond the bound together. Throws SERVICE_BUSY, and runs nothing, where there is no room.
   */
  async run<Invocation extends { readonly result: InvocationResult<ResultData> }>(
    call: () => Promise<Invocation>,
  ): Promise<Invocation> {
    if (this.#isOver || !this.#add(RESULT_BYTES_MAX)) throw new ToolrackError('SERVICE_BUSY', NOTHING_RUN)
    this.#bytes += RESULT_BYTES_MAX
    let bytes = 0
    try {
      const invocation = await call()
      bytes = Math.min(RESULT_BYTES_MAX, bytesOf(invocation.result))
      return invocation
    } finally {
      if (!this.#isOver) {
        this.#add(bytes - RESULT_BYTES_MAX)
        this.#bytes += bytes - RESULT_BYTES_MAX
      }
    }
  }

  /** When the answer has been taken, or nobody will take it. */
  giveBack(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#add(-this.#bytes)
  }
}

/** The text of a result, which is that of its value too where the value is kept as text. */
function bytesOf(result: InvocationResult<ResultData>): number {
  const data =
    result.resultType === 'success' && result.data instanceof JsonText ? result.data.text.length : 0
  return Math.max(result.textResultForLlm.length, data)
}

const USER_FULL =
  'The service holds as many results of dispatched calls of yours as it takes, because their answers are not read yet; nothing was done. Read the answers, or try again.'
const NOTHING_RUN =
  "The results of this user's calls that are not read yet take as much as they may; nothing was run. Try again when they are read."
