/** The header `traceparent` of W3C Trace Context, version 00 or later: version, trace, parent, flags. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/**
 * The header if it is valid. An invalid one counts as not sent, as the specification asks. The service makes no header itself.
 */
export function validTraceparent(header: string | undefined): string | undefined {
  return header !== undefined && TRACEPARENT.test(header) ? header : undefined
}
