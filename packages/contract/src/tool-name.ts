/**
 * The one home of the rule for tool names:
 *
 * - 1 to 128 characters; the first a letter or `_`, the others letters, digits, `_`, `.`, `:` or `-` (ASCII);
 * - not `constructor`, not `prototype`, and nothing that starts and ends with two underscores (`__proto__` among them);
 * - compared after NFKC, so a full-width spelling is never a second name.
 */
const TOOL_NAME = /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/
const RESERVED = /^(?:constructor|prototype|__.*__)$/

export const TOOL_NAME_RULE =
  'a tool name is 1 to 128 characters: a letter or _ first, then letters, digits, _ . : or - (ASCII)'

export function isToolName(name: string): boolean {
  return TOOL_NAME.test(name) && !RESERVED.test(name)
}

/** Why a name is refused, as a sentence for its author that does not repeat the name; undefined when it is allowed. */
export function toolNameFault(name: string): string | undefined {
  if (name === '') return `the name is empty; ${TOOL_NAME_RULE}`
  if (TOOL_NAME.test(name)) {
    return RESERVED.test(name)
      ? 'the name is reserved: constructor, prototype and __…__ are refused'
      : undefined
  }
  if (name.length > 128) return `the name has ${name.length} characters; ${TOOL_NAME_RULE}`
  const position = [...name].findIndex(
    (char, index) => !(index === 0 ? /[A-Za-z_]/ : /[A-Za-z0-9_.:-]/).test(char),
  )
  const char = [...name][position] ?? ''
  const codePoint = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
  return `character ${position + 1} (U+${codePoint}) is not allowed there; ${TOOL_NAME_RULE}`
}
