import type { ServerResponse } from 'node:http'

/** Aborted when the connection ends before the answer is out, where the platform tells: then nobody waits for it. */
export function callerGone(res: ServerResponse): AbortSignal {
  const gone = new AbortController()
  // A handler may ask after the caller has gone, and 'close' comes only once.
  if (res.closed && !res.writableFinished) gone.abort()
  res.once('close', () => {
    if (!res.writableFinished) gone.abort()
  })
  return gone.signal
}
