/** An answer as it came over the wire. */
export type WireAnswer = {
  readonly status: number
  /** By lower-case name; of a header that came twice, all values. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type WireAnswers = {
  readonly answers: readonly WireAnswer[]
  /** What is wrong with the bytes; undefined where they are answers and nothing else. */
  readonly fault: string | undefined
  /** Whether the last answer is not whole, as when a connection was cut. */
  readonly isCut: boolean
}

const STATUS_LINE = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/
const HEADER_LINE = /^([A-Za-z0-9-]+): ([\x20-\x7e\x80-\xff]*)$/

/**
 * Reads everything that came on a connection, strictly. `methods` are those of the requests in their order, for the answer
 * to a HEAD has no body.
 */
export function readAnswers(bytes: Buffer, methods: readonly string[]): WireAnswers {
  const answers: WireAnswer[] = []
  let rest = bytes
  let final = 0
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) return { answers, fault: undefined, isCut: true }
    const [first = '', ...lines] = rest.toString('latin1', 0, end).split('\r\n')
    const status = Number(STATUS_LINE.exec(first)?.[1])
    const headers = headersOf(lines)
    if (Number.isNaN(status) || !headers) return wrong(answers, 'an answer begins with what is no head', rest)
    rest = rest.subarray(end + 4)
    const isInterim = status < 200
    // Who refuses a request that it cannot read does not know its method, and ends the connection.
    const isRefused = headers['connection'] === 'close' && rest.length === Number(headers['content-length'])
    const isHead = methods[final] === 'HEAD' && !isRefused
    const body = bodyOf(rest, headers, isInterim || status === 204 || status === 304 || isHead)
    if (typeof body === 'string') return wrong(answers, body, rest)
    if (body.length > rest.length) return { answers, fault: undefined, isCut: true }
    answers.push({ status, headers, body: rest.toString('utf8', 0, body.length) })
    rest = rest.subarray(body.length)
    if (!isInterim) final += 1
  }
  return { answers, fault: undefined, isCut: false }
}

function headersOf(lines: readonly string[]): Record<string, string> | undefined {
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const [, name, value = ''] = HEADER_LINE.exec(line) ?? []
    if (name === undefined) return undefined
    const key = name.toLowerCase()
    headers[key] = key in headers ? `${headers[key]}, ${value}` : value
  }
  return headers
}

/** The length of the body, or what is wrong with how it is announced: the service never answers in chunks. */
function bodyOf(
  rest: Buffer,
  headers: Readonly<Record<string, string>>,
  hasNone: boolean,
): { readonly length: number } | string {
  if (headers['transfer-encoding'] !== undefined) return 'an answer came in chunks'
  if (hasNone) return { length: 0 }
  const length = headers['content-length']
  if (length === undefined) return rest.length === 0 ? { length: 0 } : 'an answer does not say how long it is'
  return /^\d+$/.test(length)
    ? { length: Number(length) }
    : 'an answer has a Content-Length that is no number'
}

function wrong(answers: readonly WireAnswer[], what: string, rest: Buffer): WireAnswers {
  return { answers, fault: `${what}: ${JSON.stringify(rest.toString('latin1', 0, 300))}`, isCut: false }
}
