import { ToolrackError } from '@toolrack/contract'
import type { IncomingMessage } from 'node:http'
import { withinMs } from '../within-ms.ts'

/** A client that sends no byte of a slow body for so long, in milliseconds, has probably gone. Its file and room are freed. */
const IDLE_MS = 30_000

const SLOW = new WeakSet<IncomingMessage>()

/** True if `slowBody` reads the body of a request, or has read it. Then the server's limit of time does not hold for it. */
export function mayBeSlow(req: IncomingMessage): boolean {
  return SLOW.has(req)
}

/**
 * The pieces of a body that may come slowly, for at most `wholeMs` milliseconds. The iteration throws REQUEST_MALFORMED if the
 * body takes longer, or if none of it comes for `idleMs` milliseconds, and CANCELLED if the client leaves.
 */
export async function* slowBody(
  req: IncomingMessage,
  { wholeMs, idleMs = IDLE_MS }: { readonly wholeMs: number; readonly idleMs?: number },
): AsyncGenerator<Uint8Array> {
  SLOW.add(req)
  const endMs = performance.now() + wholeMs
  // By default, a reader that stops early would destroy the request, and take its connection from the code that sends the error.
  const pieces = req.iterator({ destroyOnReturn: false })
  let isWaiting = false
  try {
    for (;;) {
      isWaiting = true
      const waitMs = Math.max(0, Math.min(idleMs, endMs - performance.now()))
      const next = await withinMs(waitMs, pieces.next(), () => undefined)
      if (!next) throw new ToolrackError('REQUEST_MALFORMED', waitMs < idleMs ? TOO_LONG : TOO_QUIET)
      isWaiting = false
      if (next.done) return
      yield next.value as Uint8Array
    }
  } catch (cause) {
    throw cause instanceof ToolrackError ? cause : new ToolrackError('CANCELLED', undefined, { cause })
  } finally {
    // While the iterator waits for a piece, it cannot end. It ends with the connection.
    if (!isWaiting) await pieces.return?.()
  }
}

const TOO_QUIET = 'No byte of the body came for 30 seconds; nothing was kept. Send it again.'
const TOO_LONG = 'The body took longer than it may; nothing was kept. Send it faster, or in parts.'
