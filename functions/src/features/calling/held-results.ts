import { ToolrackError } from '@toolrack/contract'
import { JsonText } from '../../json/json-text.ts'
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
  /** Counts other bytes of the answer until `giveBack`. False if there is no room for them. */
  readonly hold: (bytes: number) => boolean
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
          bytes = Math.min(RESULT_BYTES_MAX, heldLength(invocation.result))
          return invocation
        } finally {
          add(bytes - RESULT_BYTES_MAX)
        }
      },
      hold: (bytes) => {
        if (isOver || this.bytes(user) + bytes > this.#bytesPerUser) return false
        add(bytes)
        return true
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

/** The length of the texts of a result. Usually its value is a JsonText with the same string as its text. */
function heldLength(result: Invocation['result']): number {
  const text = result.textResultForLlm
  const data = result.resultType === 'success' && result.data instanceof JsonText ? result.data.text : text
  return data === text ? text.length : data.length + text.length
}

const USER_FULL =
  'The service holds too many of your results, because their answers are not read yet; nothing was done. Read the answers, or try again.'
const NOTHING_RUN =
  'Your results that are not read yet take too many bytes; nothing was run. Read them, then try again.'
