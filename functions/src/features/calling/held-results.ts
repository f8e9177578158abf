import { ToolrackError } from '@toolrack/contract'
import { shareOfHeap, UserBytes } from '../../user-bytes.ts'
import type { Invocation } from '../../calls/call.ts'
import { RESULT_BYTES_MAX } from '../../calls/pipeline/run-tool.ts'

/** The least limit for one user: room for two of the largest answers. The largest answer has the results of 64 calls. */
const BYTES_MIN = 32 * 1024 * 1024

/** Counts the results of one dispatch. */
export type Holding = {
  /**
   * Runs a call and counts its result until `giveBack`. During the call, it counts the bytes of the largest possible result, so
   * that simultaneous calls together stay within the limit. If there is no room, runs nothing and throws SERVICE_BUSY.
   */
  readonly run: (call: () => Promise<Invocation>) => Promise<Invocation>
  /** Stops counting the results. To be called when the answer has been read, or when nobody will read it. */
  readonly giveBack: () => void
}

/** Bounds the bytes of each user's results, which are in memory until their answers have been read. */
export class HeldResults {
  readonly #bytesPerUser: number
  readonly #bytes = new UserBytes()

  constructor(bytesPerUser = shareOfHeap(1 / 16, BYTES_MIN)) {
    this.#bytesPerUser = bytesPerUser
  }

  /** Begins a dispatch. Throws SERVICE_BUSY if the user's results use all the bytes that the user may have. */
  begin(user: string): Holding {
    if (this.bytes(user) >= this.#bytesPerUser) throw new ToolrackError('SERVICE_BUSY', USER_FULL)
    let held = 0
    let isOver = false
    const add = (bytes: number): void => {
      if (isOver) return
      this.#bytes.add(user, bytes)
      held += bytes
    }
    return {
      run: async (call) => {
        if (isOver || this.bytes(user) + RESULT_BYTES_MAX > this.#bytesPerUser)
          throw new ToolrackError('SERVICE_BUSY', NOTHING_RUN)
        add(RESULT_BYTES_MAX)
        let bytes = 0
        try {
          const invocation = await call()
          // If `data` is a JsonText, it shares the string of `textResultForLlm`. So only this string is counted.
          bytes = Math.min(RESULT_BYTES_MAX, invocation.result.textResultForLlm.length)
          return invocation
        } finally {
          add(bytes - RESULT_BYTES_MAX)
        }
      },
      giveBack() {
        add(-held)
        isOver = true
      },
    }
  }

  bytes(user: string): number {
    return this.#bytes.of(user)
  }
}

const USER_FULL =
  'The service holds too many of your results, because their answers are not read yet; nothing was done. Read the answers, or try again.'
const NOTHING_RUN =
  'Your results that are not read yet take too many bytes; nothing was run. Read them, then try again.'
