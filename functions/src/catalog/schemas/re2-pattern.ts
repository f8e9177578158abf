import { RE2JS } from 're2js'

/** The most characters of a pattern. The time and memory to compile a regular expression grow with its length. */
const PATTERN_LENGTH_MAX = 1_024

type Re2Pattern = {
  test(text: string): boolean
  toString(): string
  /** How many instructions the compiled pattern has. The time of a test is at most in proportion to them. */
  readonly size: number
}

/** Compiles a pattern with RE2. Ajv uses this function instead of RegExp, so the time for a pattern is linear in its input. */
export function re2Pattern(source: string): Re2Pattern {
  const compiled = RE2JS.compile(source)
  const size = compiled.programSize()
  return { test: (text) => compiled.matcher(text).find(), toString: () => `re2:${source}`, size }
}
/** The name of this function in code that Ajv generates. Ajv's type requires it. */
re2Pattern.code = 're2Pattern'

/** The fault of a pattern: `unenforced` if RE2 cannot run it, `invalid` if it is too long or not a regular expression. */
export function patternFault(
  source: string,
): { readonly kind: 'invalid' | 'unenforced'; readonly message: string } | undefined {
  if (source.length > PATTERN_LENGTH_MAX)
    return { kind: 'invalid', message: `the pattern is longer than ${PATTERN_LENGTH_MAX} characters` }
  if (compiles(() => RE2JS.compile(source))) return undefined
  if (!compiles(() => new RegExp(source, 'u')))
    return { kind: 'invalid', message: 'the pattern is not a regular expression' }
  const message = 'RE2 cannot run the pattern (look-around, back-reference or too large a repetition)'
  return { kind: 'unenforced', message }
}

function compiles(compile: () => unknown): boolean {
  try {
    compile()
    return true
  } catch {
    return false
  }
}
