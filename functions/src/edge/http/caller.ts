import type { ServerResponse } from 'node:http'

/** How long a reader may read nothing of an answer, in milliseconds. Then its connection is cut, and its memory is freed. */
export const READER_PATIENCE_MS = 30_000

/** Aborted when the connection ends before the whole answer was sent, so that nobody works for a caller who has gone. */
export function callerGone(res: ServerResponse): AbortSignal {
  const gone = new AbortController()
  // A handler may ask after the caller has gone, and 'close' comes only once.
  if (res.closed && !res.writableFinished) gone.abort()
  res.once('close', () => {
    if (!res.writableFinished) gone.abort()
  })
  return gone.signal
}

/** Resolves when a whole answer has been read, or the reader has gone. Call it before the answer is ended. */
export async function whenOver(res: ServerResponse): Promise<void> {
  if (!isGone(res) && !res.writableFinished) await firstOf(res, 'finish')
}

/** Resolves when the reader can take more, or has gone. */
export async function drained(res: ServerResponse): Promise<void> {
  if (!isGone(res)) await firstOf(res, 'drain')
}

export function isGone(res: ServerResponse): boolean {
  return res.destroyed || res.req.socket.destroyed
}

/** The socket is watched too, because an answer that waits behind another one gets no event when the connection ends. */
function firstOf(res: ServerResponse, event: 'drain' | 'finish'): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { socket } = res.req
  res.once(event, resolve).once('close', resolve)
  socket.once('close', resolve)
  return promise.finally(() => {
    res.off(event, resolve).off('close', resolve)
    socket.off('close', resolve)
  })
}
