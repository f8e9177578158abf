import type { ServerResponse } from 'node:http'

/** Aborted when the connection ends before the answer is out, where the platform tells: then nobody waits for it. */
export function callerGone(res: ServerResponse): AbortSignal {
  const gone = new AbortController()
  res.once('close', () => {
    if (!res.writableFinished) gone.abort()
  })
  return gone.signal
}
