/**
 * The most common ways in which a secret can be spelled: unchanged, as JSON with and without escaped letters, percent-encoded as
 * in JavaScript and as in Python, and in base64.
 */
export function spellings(secret: string): readonly string[] {
  const percent = encodeURIComponent(secret.toWellFormed())
  const base64 = withoutPadding(Buffer.from(secret).toString('base64'))
  return [
    secret,
    inJson(secret),
    inAscii(inJson(secret)),
    percent,
    percent.replaceAll('%2F', '/'),
    base64,
    urlSafe(base64),
  ]
}

/** A value is also searched without the blanks at its ends, if so many bytes are left. A shorter text may be in any text. */
export const TRIMMED_BYTES_MIN = 8

/** A line of a secret of several lines is searched if it has so many UTF-16 code units. A shorter one may be in any text. */
const LINE_LENGTH_MIN = 16

/**
 * All ways in which a stored secret is searched: also as JSON inside of JSON, as Python's repr, with every set of characters that
 * JavaScript and Python leave when they percent-encode, in base64 at any place of a longer text, and in hexadecimal. Of a secret
 * of several lines, each long line is searched too, because a text may be indented or have other ends of lines.
 */
export function everySpelling(secret: string): readonly string[] {
  return [...new Set([...spelledInGroups(secret)].flat())]
}

/** The groups of all spellings. Those that are seen most often come first. The first group has the secret as it is. */
export function* spelledInGroups(secret: string): Generator<readonly string[], void, undefined> {
  const texts = asItIs(secret)
  const whole = texts.filter((text) => text.length >= secret.trim().length)
  yield texts
  const once = texts.map(escapedOnce)
  yield* once
  yield whole.flatMap(inBase64)
  for (const text of texts) {
    const python = inPython(text)
    once.push(python)
    yield python
  }
  for (const text of texts) yield* percentEncoded(text)
  yield whole.flatMap(inHexadecimal)
  for (const text of whole) yield insideOfBase64(text)
  for (const escaped of once)
    for (const text of new Set(escaped)) {
      const twice = [inJson(text), inAscii(inJson(text))]
      yield twice
      yield twice.map(inJson)
    }
  for (const text of whole) yield brokenBase64(text)
  for (const text of whole) yield inMarkedBytes(text)
}

/** The secret, without the blanks at its ends, and its lines. No other spelling is shorter than the shortest of them. */
export function asItIs(secret: string): readonly string[] {
  const trimmed = secret.trim()
  const parts = secret.split(/[\r\n]+/).map((line) => line.trim())
  const lines = parts.length > 1 ? parts.filter(({ length }) => length >= LINE_LENGTH_MIN) : []
  const isLong = Buffer.byteLength(trimmed) >= TRIMMED_BYTES_MIN
  return [...new Set([secret, ...(isLong ? [trimmed, ...lines] : [])])]
}

function escapedOnce(secret: string): readonly string[] {
  const json = inJson(secret)
  return [
    secret,
    json,
    inAscii(json),
    inAscii(json).replaceAll(/\\u[\da-f]{4}/g, (unit) => `\\u${unit.slice(2).toUpperCase()}`),
    json.replaceAll('/', String.raw`\/`),
  ]
}

/**
 * As Python's `repr` and `ascii` of the text, and as the `repr` of its bytes in UTF-8, each between both kinds of quotes. The
 * three are the same for printable ASCII. The first pattern has the characters for which Python's `isprintable` is false.
 */
function inPython(secret: string): readonly string[] {
  const bytes = Buffer.from(secret).toString('latin1')
  return [
    secret.replaceAll(/[\\\p{C}\p{Z}]/gu, escapedInPython),
    secret.replaceAll(/\\|[^ -~]/gu, escapedInPython),
    bytes.replaceAll(/\\|[^ -~]/gu, escapedInPython),
  ].flatMap((text) => [text, text.replaceAll("'", String.raw`\'`)])
}

const NAMED_IN_PYTHON: Readonly<Record<string, string>> = {
  ' ': ' ',
  '\\': String.raw`\\`,
  '\t': String.raw`\t`,
  '\n': String.raw`\n`,
  '\r': String.raw`\r`,
}

function escapedInPython(character: string): string {
  const code = character.codePointAt(0) ?? 0
  const digits = code.toString(16)
  if (code <= 0xff) return NAMED_IN_PYTHON[character] ?? `\\x${digits.padStart(2, '0')}`
  return code <= 0xffff ? `\\u${digits.padStart(4, '0')}` : `\\U${digits.padStart(8, '0')}`
}

function* percentEncoded(secret: string): Generator<readonly string[], void, undefined> {
  const text = secret.toWellFormed()
  const javaScript = encodeURIComponent(text)
  const python = javaScript.replaceAll(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  const address = encodeURI(text)
  // Sets of characters differ: encodeURIComponent, encodeURI, Python's quote with and without `safe`, forms, and `requests`.
  const sets = [
    javaScript,
    address,
    python,
    python.replaceAll('%2F', '/'),
    new URLSearchParams([['', text]]).toString().slice(1),
    python.replaceAll('%3A', ':'),
    address.replaceAll('%25', '%').replaceAll('%5B', '[').replaceAll('%5D', ']'),
  ]
  for (const set of new Set(sets))
    for (const one of new Set([set, set.replaceAll('%20', '+')]))
      yield [one, one.replaceAll(/%[\dA-F]{2}/g, (byte) => byte.toLowerCase())]
}

function inHexadecimal(secret: string): readonly string[] {
  const hex = Buffer.from(secret).toString('hex')
  return [hex, hex.toUpperCase()]
}

/** Each byte in hexadecimal, with colons between the bytes or after a percent sign. */
function inMarkedBytes(secret: string): readonly string[] {
  const bytes = inHexadecimal(secret).map((hex) => hex.match(/../g) ?? [])
  return bytes.flatMap((pairs) => [pairs.join(':'), `%${pairs.join('%')}`])
}

function inBase64(secret: string): readonly string[] {
  const whole = Buffer.from(secret).toString('base64')
  return [whole, withoutPadding(whole)].flatMap((text) => [text, urlSafe(text)])
}

/** In base64 at any place of a longer text. */
function insideOfBase64(secret: string): readonly string[] {
  const bytes = Buffer.from(secret)
  return [0, 1, 2].map((place) => sharedBase64(bytes, place)).flatMap((text) => [text, urlSafe(text)])
}

/** In base64 with lines of 76 or 64 characters, as in mails and in PEM. */
function brokenBase64(secret: string): readonly string[] {
  const whole = Buffer.from(secret).toString('base64')
  return [whole.match(/.{1,76}/g), whole.match(/.{1,64}/g)].flatMap((lines) =>
    ['\n', '\r\n', String.raw`\n`].map((end) => (lines ?? []).join(end)),
  )
}

/**
 * The characters of base64 that are the same whatever bytes are around these bytes. `place` is the remainder of their position
 * divided by 3.
 */
function sharedBase64(bytes: Buffer, place: number): string {
  const text = Buffer.concat([Buffer.alloc(place), bytes]).toString('base64')
  // A character has 6 bits. The first and the last one may have bits of a byte that is not of the secret.
  return text.slice(Math.ceil((place * 8) / 6), Math.floor(((place + bytes.length) * 8) / 6))
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

function inAscii(json: string): string {
  return json.replaceAll(
    /[^ -~]/g,
    (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function withoutPadding(base64: string): string {
  return base64.replace(/=+$/, '')
}

function urlSafe(base64: string): string {
  return base64.replaceAll('+', '-').replaceAll('/', '_')
}
