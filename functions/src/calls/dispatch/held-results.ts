import { ToolrackError, type InvocationResult } from '@toolrack/contract'
import { getHeapStatistics } from 'node:v8'
import { JsonText } from '../../tools/json/json-text.ts'
import type { ResultData } from '../pipeline/call.ts'
import { RESULT_BYTES_MAX } from '../pipeline/run-tool.ts'

const HEAP_SHARE = 1 / 16
/** Room for two of the largest answers, which have 64 calls. */
const BYTES_MIN = 32 * 1024 * 1024

/** How many bytes the results of one user may take. `heapBytesMax` is the limit of the heap, by default that of V8. */
export function resultBudget(heapBytesMax = getHeapStatistics().heap_size_limit): number {
  return Math.max(BYTES_MIN, Math.floor(heapBytesMax * HEAP_SHARE))
}

/** Bounds the bytes of the results that are held for each user until their answers have been read. */
export class HeldResults {
  readonly #bytesPerUser: number
  readonly #bytesOf = new Map<string, number>()

  constructor(bytesPerUser = resultBudget()) {
    this.#bytesPerUser = bytesPerUser
  }

  /** Begins a dispatch. Throws SERVICE_BUSY if the user's results take all the bytes that they may. */
  begin(user: string): Holding {
    if (this.bytes(user) >= this.#bytesPerUser) throw new ToolrackError('SERVICE_BUSY', USER_FULL)
    return new Holding((more) => this.#add(user, more))
  }

  /** How many bytes are held for a user now. */
  bytes(user: string): number {
    return this.#bytesOf.get(user) ?? 0
  }

  /** Adds bytes. Returns false, and adds nothing, if they would be too many. */
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
   * Runs a call and holds its result until `giveBack`. While the call runs, it counts as the largest result, so that calls
   * that run at the same time stay within the bound together. Throws SERVICE_BUSY, and runs nothing, if there is no room.
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

  /** Call it when the answer has been read, or when nobody will read it. */
  giveBack(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#add(-this.#bytes)
  }
}

/** The length of a result's text. A value that is kept as text shares it, so it does not count again. */
function bytesOf(result: InvocationResult<ResultData>): number {
  const data =
    result.resultType === 'success' && result.data instanceof JsonText ? result.data.text.length : 0
  return Math.max(result.textResultForLlm.length, data)
}

const USER_FULL =
  'The service holds as many of your results as it may, because their answers are not read yet; nothing was done. Read the answers, or try again.'
const NOTHING_RUN =
  'Your results that are not read yet take as much as they may; nothing was run. Try again when they are read.'
