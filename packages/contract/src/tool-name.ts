/** Matches what a tool name looks like. TOOL_NAME_RULE describes it. */
const TOOL_NAME = /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/
/**
 * Matches names that have the form of a tool name but are reserved. The last kind starts and ends with two underscores, such as
 * `__proto__`.
 */
const RESERVED = /^(?:constructor|prototype|__.*__)$/

export const TOOL_NAME_RULE =
  'a tool name is 1 to 128 characters: a letter or _ first, then letters, digits, _ . : or - (ASCII)'

export function isToolName(name: string): boolean {
  return TOOL_NAME.test(name) && !RESERVED.test(name)
}

/** Why a name is not allowed. Undefined if it is allowed. The text never repeats the name. */
export function toolNameFault(name: string): string | undefined {
  if (isToolName(name)) return undefined
  if (TOOL_NAME.test(name)) return 'the name is reserved: constructor, prototype and __…__ are refused'
  if (name === '') return `the name is empty; ${TOOL_NAME_RULE}`
  if (name.length > 128) return `the name has ${name.length} characters; ${TOOL_NAME_RULE}`
  const position = [...name].findIndex(
    (char, index) => !(index === 0 ? /[A-Za-z_]/ : /[A-Za-z0-9_.:-]/).test(char),
  )
  const char = [...name][position] ?? ''
  const codePoint = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
  return `character ${position + 1} (U+${codePoint}) is not allowed there; ${TOOL_NAME_RULE}`
}

/** Cyrillic and Greek letters that look like ASCII letters (Unicode TR39). LATIN has the ASCII letters at the same positions. */
const LOOKALIKES = 'аеорсухіјѕԁһӏАВЕКМНОРСТУХІЈЅαικνορυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ'
const LATIN = 'aeopcyxijsdhlABEKMHOPCTYXIJSaikvopuxABEZHIKMNOPTYX'
const GREEK_OR_CYRILLIC = /[\u0370-\u052F]/g

/**
 * The most UTF-16 code units of a text that is normalized. A longer text is not a name, and normalizing it could take quadratic
 * time.
 */
const READABLE_LENGTH_MAX = 256

/** Matches invisible characters: zero-width characters, direction marks, soft hyphens and byte order marks. */
const INVISIBLE = /[\u00AD\u200B-\u200F\u202A-\u202E\u2060-\u2064\u2066-\u2069\uFEFF]/gu

/**
 * A name as a person reads it: after NFKC, without invisible characters, and with ASCII in place of look-alike letters. It shows
 * which tool a forbidden name resembles. For an allowed name it is the name itself.
 */
export function readableName(name: string): string {
  if (name.length > READABLE_LENGTH_MAX) return name
  const visible = name.normalize('NFKC').replace(INVISIBLE, '')
  return visible.replaceAll(GREEK_OR_CYRILLIC, (letter) => LATIN[LOOKALIKES.indexOf(letter)] ?? letter)
}
