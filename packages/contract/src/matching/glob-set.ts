import { GlobAutomaton } from '../rules/glob-automaton.ts'
import type { GlobKind } from '../rules/glob.ts'
import { PartSearch } from './part-search.ts'
import { TextEnds } from './text-ends.ts'

/** Whether a text matches a glob. `UNKNOWN` means that finding out would take too many steps. */
export const NO = 0
export const YES = 1
export const UNKNOWN = 2
export type Answer = typeof NO | typeof YES | typeof UNKNOWN

/** How many steps automata may still take. */
export type StepsLeft = { left: number }

/**
 * The most 32-bit words of one automaton. If the globs need more, they are divided among several automata, because an automaton
 * keeps all its words for each character that its globs name.
 */
const AUTOMATON_WORDS_MAX = 16

/** A glob with a wildcard. `place` is its index in the set. */
type Open = { readonly glob: string; readonly place: number }
type Group = { readonly automaton: GlobAutomaton; readonly places: readonly number[] }

/**
 * A set of globs. A text is compared with all of them at once. The work is linear in the text and in the globs. Only globs of
 * paths and globs with `?` need an automaton. It takes a step for each character of the text and each 32 characters of the globs.
 */
export class GlobSet {
  /** The answers for a text that matches none of the globs. */
  readonly #none: readonly Answer[]
  readonly #whole = new Map<string, number[]>()
  readonly #open: readonly Open[]
  /** What each glob with wildcards has before its first and after its last wildcard. Undefined if there are no such globs. */
  readonly #ends: TextEnds | undefined
  /** The index in `#open` from which on globs are compared by an automaton. */
  readonly #followedFrom: number
  readonly #firstLengths: readonly number[]
  readonly #parts: PartSearch | undefined
  readonly #groups: readonly Group[]
  #steps = 0

  constructor(globs: readonly string[], kind: GlobKind) {
    this.#none = globs.map(() => NO)
    const starred: Open[] = []
    const followed: Open[] = []
    for (const [place, glob] of globs.entries())
      if (isFollowed(glob, kind)) followed.push({ glob, place })
      else if (glob.includes('*')) starred.push({ glob, place })
      else this.#whole.set(glob, [...(this.#whole.get(glob) ?? []), place])
    const parts = starred.map(({ glob }) => glob.split(/\*+/))
    const ends = [...parts.map(endsOfParts), ...followed.map(({ glob }) => endsOf(glob, kind))]
    this.#open = [...starred, ...followed]
    this.#followedFrom = starred.length
    this.#ends = ends.length > 0 ? new TextEnds(ends) : undefined
    this.#firstLengths = ends.map(({ first }) => first.length)
    const sequences = parts.map((each) => ({ parts: each.slice(1, -1), after: each.at(-1)?.length ?? 0 }))
    this.#parts = parts.some(({ length }) => length > 2) ? new PartSearch(sequences) : undefined
    this.#groups = inGroups(followed, kind)
  }

  /** The number of comparisons that were made, for tests. */
  get steps(): number {
    return this.#steps + (this.#ends?.steps ?? 0) + (this.#parts?.steps ?? 0)
  }

  /** The answer for each glob, in the order of the globs. Automata take no more steps than `steps` has left. */
  answers(text: string, steps: StepsLeft = { left: Infinity }): readonly Answer[] {
    const answers = this.#none.slice()
    for (const place of this.#whole.get(text) ?? []) answers[place] = YES
    if (!this.#ends) return answers
    const fitting = this.#ends.fitting(text)
    const starred = fitting.filter((index) => index < this.#followedFrom)
    const found = this.#parts?.found(text, starred, (index) => this.#firstLengths[index] ?? 0) ?? starred
    for (const index of found) answers[this.#open[index]?.place ?? 0] = YES
    if (starred.length < fitting.length) this.#follow(text, fitting, answers, steps)
    return answers
  }

  #follow(text: string, fitting: readonly number[], answers: Answer[], steps: StepsLeft): void {
    for (const index of fitting)
      if (index >= this.#followedFrom) answers[this.#open[index]?.place ?? 0] = UNKNOWN
    for (const { automaton, places } of this.#groups) {
      if (places.every((place) => answers[place] !== UNKNOWN)) continue
      const needed = automaton.words * text.length
      if (needed > steps.left) continue
      steps.left -= needed
      this.#steps += needed
      const reached = automaton.after(automaton.start, text)
      for (const [number, place] of places.entries())
        if (answers[place] === UNKNOWN) answers[place] = automaton.isEnd(reached, number) ? YES : NO
    }
  }
}

const FOLLOWED = { path: /[*?]/, text: /\?/, name: /[?\p{Cs}]/u } as const

/**
 * True for a glob that needs an automaton. This includes a glob of names with a lone half of a surrogate pair, because a search
 * for its parts could find this half within another character.
 */
function isFollowed(glob: string, kind: GlobKind): boolean {
  return FOLLOWED[kind].test(glob)
}

function endsOfParts(parts: readonly string[]) {
  const lengthMin = parts.reduce((sum, { length }) => sum + length, 0)
  return { first: parts[0] ?? '', last: parts.at(-1) ?? '', lengthMin }
}

/** The literal characters of a glob before its first wildcard and after its last one. */
function endsOf(glob: string, kind: GlobKind) {
  const parts = glob.split(/[*?]/)
  const [first = '', last = ''] = [parts[0], parts.at(-1)]
  // The slash after `**` is a part of the wildcard.
  const end = kind === 'path' && last.startsWith('/') ? last.slice(1) : last
  return { first, last: end, lengthMin: Math.max(first.length, end.length) }
}

/** Divides globs into groups, so that each automaton has few words. */
function inGroups(globs: readonly Open[], kind: GlobKind): readonly Group[] {
  const groups: Open[][] = []
  let room = 0
  for (const one of globs) {
    room -= one.glob.length + 1
    if (room < 0) {
      groups.push([])
      room = 32 * AUTOMATON_WORDS_MAX - one.glob.length - 1
    }
    groups.at(-1)?.push(one)
  }
  return groups.map((group) => ({
    automaton: new GlobAutomaton(
      group.map(({ glob }) => glob),
      kind,
    ),
    places: group.map(({ place }) => place),
  }))
}
