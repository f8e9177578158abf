import { RE2JS } from 're2js'

/** What Ajv needs of a regular expression. Every pattern runs on RE2, in time linear in its input. */
export type Pattern = { test(text: string): boolean; toString(): string }

export const PATTERN_LENGTH_MAX = 1_024

/** The engine that Ajv is given in place of RegExp. */
export function re2Pattern(source: string): Pattern {
  const compiled = RE2JS.compile(source)
  return { test: (text) => compiled.matcher(text).find(), toString: () => `re2:${source}` }
}
/** How generated stand-alone code would name the engine; Ajv's type asks for it. */
re2Pattern.code = 're2Pattern'

export type PatternFault = { readonly kind: 'invalid' | 'unenforced'; readonly message: string }

/** Why a pattern is not enforced (RE2 cannot run it), or is refused (nothing can). */
export function patternFault(source: string): PatternFault | undefined {
  if (source.length > PATTERN_LENGTH_MAX) {
    return { kind: 'invalid', message: `the pattern is longer than ${PATTERN_LENGTH_MAX} characters` }
  }
  try {
    RE2JS.compile(source)
    return undefined
  } catch {
    return isRegExp(source)
      ? {
          kind: 'unenforced',
          message: 'RE2 cannot run the pattern (look-around, back-reference or too large a repetition)',
        }
      : { kind: 'invalid', message: 'the pattern is not a regular expression' }
  }
}

/** Parses without ever running it. */
function isRegExp(source: string): boolean {
  try {
    return new RegExp(source, 'u') instanceof RegExp
  } catch {
    return false
  }
}
