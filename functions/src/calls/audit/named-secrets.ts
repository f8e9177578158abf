import { isCountName, isSecretName } from './secret-names.ts'

/** Stands in place of a secret. */
export const REDACTED = '[redacted]'

/**
 * The name and the sign of `name=value`, `name: value`, `"name" => "value"` and `<name>value`: of a query, a header, a setting, a
 * line of a log or a program. Quotes can be escaped or percent-encoded.
 */
const QUOTE = String.raw`(?:\\{0,4}["']|%2[27])?`
const SIGN = String.raw`\s{0,3}(?:[:=]{1,3}>?|%3[ADad])|>`
const NAME_AND_SIGN = new RegExp(String.raw`(?=([\w.-]{1,64}))\1${QUOTE}(?:${SIGN})\s{0,3}`, 'g')
/** The same for texts with other letters than those of ASCII. */
const ANY_NAME_AND_SIGN = new RegExp(
  String.raw`(?=([\p{L}\p{N}_.-]{1,64}))\1${QUOTE}(?:${SIGN})\s{0,3}`,
  'gu',
)
/** A name at the end of a text, with its sign: the value follows. */
export const OPEN_NAME = new RegExp(String.raw`([\p{L}\p{N}_.-]{1,64})${QUOTE}(?:${SIGN})$`, 'u')

/** The option of a command whose value is the next word. */
const OPTION = /(?<![\w-])--([A-Za-z][\w-]{0,63})[ \t]{1,3}(?!-)/g

/** A quoted text, perhaps with a prefix as in `b'…'`, with escaped quotes or without its end, or what is up to the next separator. */
const VALUE = new RegExp(
  [
    String.raw`[bBrRuUfF]{0,2}(?:"{3}[^]*?(?:"{3}|$)|'{3}[^]*?(?:'{3}|$))`,
    String.raw`[bBrRuUfF]{0,2}(?:"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)`,
    String.raw`\\{1,4}(?:"[^"\n]*"?|'[^'\n]*'?)`,
    String.raw`[^\s&;,"'<>{}[\]]+`,
  ].join('|'),
  'y',
)

/** The text without the values of names that look like secrets. */
export function withoutNamedSecrets(text: string): string {
  const names = /[^ -~\s]/.test(text) ? ANY_NAME_AND_SIGN : NAME_AND_SIGN
  return withoutValues(withoutValues(text, names), OPTION)
}

/** The values of names that are no secrets are looked through too: they can be addresses with a query. */
function withoutValues(text: string, names: RegExp): string {
  let redacted = ''
  let from = 0
  names.lastIndex = 0
  for (let found = names.exec(text); found; found = names.exec(text)) {
    const [all, name = ''] = found
    if (!isSecretName(name)) continue
    VALUE.lastIndex = found.index + all.length
    const [value] = VALUE.exec(text) ?? []
    if (value === undefined || value === REDACTED || isCount(name, value)) continue
    redacted += text.slice(from, found.index + all.length) + quotedAs(value)
    from = found.index + all.length + value.length
    names.lastIndex = from
  }
  return redacted + text.slice(from)
}

function isCount(name: string, value: string): boolean {
  return isCountName(name) && /^["']?\d{1,9}["']?$/.test(value)
}

function quotedAs(value: string): string {
  const quote = /^\\{0,4}["']/.exec(value)?.[0] ?? ''
  return `${quote}${REDACTED}${quote}`
}
