import type { IncomingMessage } from 'node:http'

type Request = Pick<IncomingMessage, 'headers'> & {
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/** The hosts that a program of the same machine names. A page of a browser that was led here by its DNS names another one. */
const LOCAL_HOST = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/
const LOOPBACK = /^(?:127\.|::1$|::ffff:127\.)/
/** Headers that a proxy adds, or a browser. A request with one of them comes from elsewhere, also over the loopback interface. */
const OF_OTHERS = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-real-ip',
  'origin',
  'sec-fetch-site',
]

/** True if a program of the same machine has sent the request itself, and no proxy and no page of a browser. */
export function isOfThisMachine({ socket, headers }: Request): boolean {
  return (
    LOOPBACK.test(socket.remoteAddress ?? '') &&
    LOCAL_HOST.test(headers.host ?? '') &&
    OF_OTHERS.every((name) => headers[name] === undefined)
  )
}
