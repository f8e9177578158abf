/** The header `traceparent` of W3C Trace Context, version 00 or later: version, trace, parent, flags. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** The header if it is valid. An invalid one is treated as if it had not been sent, as the specification asks; none is invented. */
export function validTraceparent(header: string | undefined): string | undefined {
  return header !== undefined && TRACEPARENT.test(header) ? header : undefined
}
