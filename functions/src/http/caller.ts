import { ToolrackError } from '@toolrack/contract'
import type { ServerResponse } from 'node:http'

/**
 * In this time, in milliseconds, a client must read at least a part of its answer. Otherwise the connection is closed, which
 * frees the memory of the answer.
 */
export const READER_PATIENCE_MS = 30_000

/** Returns a signal that is aborted, with CANCELLED as its reason, if the connection ends before the whole answer was sent. */
export function callerGone(res: ServerResponse): AbortSignal {
  const gone = new AbortController()
  function check(): void {
    if (!res.writableFinished) gone.abort(new ToolrackError('CANCELLED'))
  }
  // If the caller has already disconnected, no 'close' event will come.
  if (res.closed) check()
  res.once('close', check)
  return gone.signal
}

export function isGone(res: ServerResponse): boolean {
  return res.destroyed || res.req.socket.destroyed
}

/**
 * Resolves at the event, or when the connection ends. `drain` means that more can be written. `finish` means that the whole
 * answer has been handed to the operating system. The socket is watched too, because an answer that waits behind another answer
 * gets no event when the connection ends.
 */
export async function eventOrEnd(res: ServerResponse, event: 'drain' | 'finish'): Promise<void> {
  if (isGone(res) || res.writableFinished) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const { socket } = res.req
  res.once(event, resolve).once('close', resolve)
  socket.once('close', resolve)
  await promise.finally(() => {
    res.off(event, resolve).off('close', resolve)
    socket.off('close', resolve)
  })
}
