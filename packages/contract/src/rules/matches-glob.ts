import { GlobAutomaton } from './glob-automaton.ts'
import { nameMatcher, textMatcher, type GlobKind } from './glob.ts'

/** The most globs of each kind that stay compiled: all that the rules of several owners have. */
const COMPILED_MAX = 2_000

type Matcher = (text: string) => boolean

/**
 * True if the whole text matches the glob. Globs of names and texts are compared by a search for their literal parts, because a
 * call compares up to 200 rules. Others take a step for each character of the text, in which 32 characters of the glob are one
 * operation.
 */
export function matchesGlob(glob: string, text: string, kind: GlobKind): boolean {
  return COMPILED[kind](glob)(text)
}

/** Lists and calls compare the same globs with many texts. */
const COMPILED = {
  name: keepLast((glob) => {
    const matchesName = nameMatcher(glob)
    // A character beyond U+FFFF is two units of the text, and `?` stands for both.
    return (text) =>
      SURROGATE.test(text) ? new GlobAutomaton(glob, 'name').matches(text) : matchesName(text)
  }),
  // A search for parts with `?` compares each part at each place of a text, and an argument is longer than a name.
  text: keepLast((glob) => (glob.includes('?') ? automatonOf(glob, 'text') : textMatcher(glob))),
  path: keepLast((glob) => {
    const [literalStart = ''] = glob.split(/[*?]/, 1)
    const matches = automatonOf(glob, 'path')
    return (text) => text.startsWith(literalStart) && matches(text)
  }),
}

function automatonOf(glob: string, kind: GlobKind): Matcher {
  const automaton = new GlobAutomaton(glob, kind)
  return (text) => automaton.matches(text)
}

const SURROGATE = /[\uD800-\uDFFF]/

function keepLast(compile: (glob: string) => Matcher): (glob: string) => Matcher {
  const known = new Map<string, Matcher>()
  return (glob) => {
    const kept = known.get(glob)
    if (kept) return kept
    if (known.size >= COMPILED_MAX) known.clear()
    const compiled = compile(glob)
    known.set(glob, compiled)
    return compiled
  }
}
