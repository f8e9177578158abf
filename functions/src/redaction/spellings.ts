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

/**
 * All ways in which a stored secret is searched: also as JSON inside of JSON, as Python's repr, with every set of characters that
 * JavaScript and Python leave when they percent-encode, in base64 at any place of a longer text, and in hexadecimal.
 */
export function everySpelling(secret: string): readonly string[] {
  const trimmed = secret.trim()
  const whole = trimmed === '' ? [secret] : [secret, trimmed]
  return [...new Set(whole.flatMap((one) => [...escaped(one), ...percentEncoded(one), ...inBytes(one)]))]
}

/**
 * Escaped once, as JSON a second time, because tools put JSON into their texts, and a third time, because such a text can be in a
 * result that is JSON.
 */
function escaped(secret: string): readonly string[] {
  const json = inJson(secret)
  const repr = json.replaceAll('\\"', '"')
  const once = [
    secret,
    json,
    inAscii(json),
    inAscii(json).replaceAll(/\\u[\da-f]{4}/g, (unit) => `\\u${unit.slice(2).toUpperCase()}`),
    json.replaceAll('/', String.raw`\/`),
    repr,
    repr.replaceAll("'", String.raw`\'`),
  ]
  const twice = [...new Set(once)].flatMap((text) => [inJson(text), inAscii(inJson(text))])
  return [...once, ...twice, ...twice.map(inJson)]
}

function percentEncoded(secret: string): readonly string[] {
  const text = secret.toWellFormed()
  const javaScript = encodeURIComponent(text)
  const python = javaScript.replaceAll(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  // Sets of characters differ: encodeURIComponent, encodeURI, Python's quote with and without `safe`, and forms.
  const sets = [
    javaScript,
    encodeURI(text),
    python,
    python.replaceAll('%2F', '/'),
    new URLSearchParams([['', text]]).toString().slice(1),
  ]
  return sets
    .flatMap((one) => [one, one.replaceAll('%20', '+')])
    .flatMap((one) => [one, one.replaceAll(/%[\dA-F]{2}/g, (byte) => byte.toLowerCase())])
}

/** In hexadecimal and in base64. */
function inBytes(secret: string): readonly string[] {
  const bytes = Buffer.from(secret)
  const hex = bytes.toString('hex')
  const whole = bytes.toString('base64')
  const base64 = [whole, withoutPadding(whole), ...[0, 1, 2].map((place) => insideOfBase64(bytes, place))]
  return [hex, hex.toUpperCase(), ...base64, ...base64.map(urlSafe)]
}

/**
 * The characters of base64 that are the same whatever bytes are around these bytes. `place` is the remainder of their position
 * divided by 3.
 */
function insideOfBase64(bytes: Buffer, place: number): string {
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
