/**
 * The JSON of an object from which the value of one member was cut out. `rest` has null in place of the value. `cut` is the text
 * of the value, if the object has the member.
 */
export type CutMember = { readonly rest: string; readonly cut?: string }

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPENING_BRACKET = 0x5b
const CLOSING_BRACKET = 0x5d
const OPENING_BRACE = 0x7b
const CLOSING_BRACE = 0x7d

/** If a string has more code units than this, `indexOf` finds its end. For a shorter string, a loop is faster. */
const SHORT = 64

/**
 * Cuts the value of a member out of the JSON of an object, without parsing this value. Undefined if the text is not an object, or
 * has the same name twice. Other faults of the JSON are not found, because the caller parses `rest`. The time is linear in the
 * text.
 */
export function cutMember(text: string, name: string): CutMember | undefined {
  const names = new Set<string>()
  let cut: { readonly from: number; readonly to: number } | undefined
  let at = afterSpace(text, 0)
  if (text.charCodeAt(at) !== OPENING_BRACE) return undefined
  at = afterSpace(text, at + 1)
  if (text.charCodeAt(at) === CLOSING_BRACE) return { rest: text }
  for (;;) {
    if (text.charCodeAt(at) !== QUOTE) return undefined
    const nameEnd = afterString(text, at)
    const colon = afterSpace(text, nameEnd)
    if (text.charCodeAt(colon) !== COLON) return undefined
    const found = nameIn(text.slice(at, nameEnd))
    if (found === undefined || names.has(found)) return undefined
    names.add(found)
    const from = afterSpace(text, colon + 1)
    const end = afterValue(text, from)
    if (found === name) cut = { from, to: withoutSpace(text, end) }
    if (text.charCodeAt(end) === CLOSING_BRACE) break
    if (text.charCodeAt(end) !== COMMA) return undefined
    at = afterSpace(text, end + 1)
  }
  if (!cut) return { rest: text }
  const { from, to } = cut
  if (to <= from) return undefined
  return { rest: `${text.slice(0, from)}null${text.slice(to)}`, cut: text.slice(from, to) }
}

/** The name in a JSON string, which is the text of a member's name. Undefined if the string is not valid JSON. */
function nameIn(json: string): string | undefined {
  if (!json.includes('\\')) return json.slice(1, -1)
  try {
    return JSON.parse(json) as string
  } catch {
    return undefined
  }
}

/** The position of the comma or closing bracket that follows the value at `start`. If there is none, the length of the text. */
function afterValue(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at += 1) {
    const sign = text.charCodeAt(at)
    if (sign === QUOTE) at = afterString(text, at) - 1
    else if (sign === OPENING_BRACE || sign === OPENING_BRACKET) depth += 1
    else if (sign === CLOSING_BRACE || sign === CLOSING_BRACKET) {
      if (depth === 0) return at
      depth -= 1
    } else if (sign === COMMA && depth === 0) return at
  }
  return text.length
}

/** The position after the string whose opening quote is at `start`. If the string does not end, the length of the text. */
function afterString(text: string, start: number): number {
  let at = start + 1
  for (const near = Math.min(at + SHORT, text.length); at < near; at += 1) {
    const sign = text.charCodeAt(at)
    if (sign === QUOTE) return at + 1
    if (sign === BACKSLASH) at += 1
  }
  for (let end = text.indexOf('"', at); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = end
    while (backslashes > at && text.charCodeAt(backslashes - 1) === BACKSLASH) backslashes -= 1
    if ((end - backslashes) % 2 === 0) return end + 1
  }
  return text.length
}

function afterSpace(text: string, start: number): number {
  let at = start
  while (isSpace(text.charCodeAt(at))) at += 1
  return at
}

/** The position after the last character before `end` that is not white space. */
function withoutSpace(text: string, end: number): number {
  let at = end
  while (isSpace(text.charCodeAt(at - 1))) at -= 1
  return at
}

function isSpace(sign: number): boolean {
  return sign === 0x20 || sign === 0x0a || sign === 0x0d || sign === 0x09
}
