import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from '../json.ts'
import { argumentKind, globKind, isContentOfFolder, isDoubtful, matchesArgument } from './argument-text.ts'
import type { ArgumentKind } from './argument-text.ts'
import { GlobAutomaton, type Positions } from './glob-automaton.ts'
import { comparedTogether } from './rule-globs.ts'
import type { RuleEffect } from './rule-set.ts'

/** What a rule says of one argument. */
export type ArgumentGlob = { readonly glob: string; readonly effect: RuleEffect }

/** The globs, by their places, that a value matches. */
type Matched = ReadonlySet<number>

/** The most states of all globs of an argument together. Globs that need more are not compared with each other. */
export const GLOB_STATES_MAX = 500

/** Counts the steps of a comparison. `take` is false if fewer than these are left; then the comparison is given up. */
export type Work = { readonly take: (steps: number) => boolean }

/**
 * Every set of globs that some value of the argument matches; undefined if there are too many. There may be a few sets too many,
 * never one too few.
 */
export function matchedSets(
  { kind, listed, mayBeText, mayBeOther }: Values,
  globs: readonly ArgumentGlob[],
  work: Work,
): readonly Matched[] | undefined {
  const characters = listed.reduce<number>((sum, value) => sum + lengthOf(value), 0)
  // Globs of texts are compared together, and those of paths one by one.
  const compared = kind === 'path' ? characters * globs.length : characters
  if (!work.take(compared + listed.length * globs.length)) return undefined
  const compare = comparedTogether(globs.map(({ glob }) => glob))
  const sets = listed.map((value) =>
    matchedBy(globs, (one) => matchesArgument(one.glob, value, kind, one.effect, compare)),
  )
  if (mayBeOther) sets.push(matchedBy(globs, ({ effect }) => effect !== 'allow'))
  const ofTexts = mayBeText ? textSets(globs, kind, work) : []
  return ofTexts && distinct([...sets, ...ofTexts])
}

function lengthOf(value: JsonValue): number {
  return typeof value === 'string' ? value.length : 0
}

/** The values that an argument may have. A call with another value is refused, because it does not match the schema. */
export type Values = {
  readonly kind: ArgumentKind
  readonly listed: readonly JsonValue[]
  readonly mayBeText: boolean
  /** The argument may be missing or no text. */
  readonly mayBeOther: boolean
}

export function valuesOf(name: string, parameters: JsonObject): Values {
  const { properties, required } = parameters
  const kind = argumentKind(name, parameters)
  const schema = isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined
  if (schema === undefined && isClosed(parameters))
    return { kind, listed: [], mayBeText: false, mayBeOther: true }
  // Beside a reference, older drafts ignore all other keywords.
  if (!isJsonObject(schema) || '$ref' in schema)
    return { kind, listed: [], mayBeText: true, mayBeOther: true }
  const { const: only, enum: some = null, type } = schema
  const listed = only === undefined ? some : [only]
  // oxlint-disable-next-line toolrack/linear-texts -- It is a list of names.
  const isRequired = Array.isArray(required) && required.includes(name)
  if (isJsonArray(listed) && listed.length > 0)
    return { kind, listed, mayBeText: false, mayBeOther: !isRequired }
  // A required text may still be none for rules: a very long one.
  return {
    kind,
    listed: [],
    mayBeText: type === undefined || [type].flat().includes('string'),
    mayBeOther: true,
  }
}

/** True if the schema allows no argument that it does not declare. */
function isClosed({ additionalProperties, patternProperties, $ref }: JsonObject): boolean {
  return additionalProperties === false && patternProperties === undefined && $ref === undefined
}

function matchedBy(globs: readonly ArgumentGlob[], matches: (one: ArgumentGlob) => boolean): Matched {
  return new Set(globs.flatMap((one, index) => (matches(one) ? [index] : [])))
}

function textSets(
  globs: readonly ArgumentGlob[],
  kind: ArgumentKind,
  work: Work,
): readonly Matched[] | undefined {
  const sets = new TextSets(globs, kind).all(work)
  if (!sets || kind !== 'path' || !globs.some(({ effect }) => effect === 'ask')) return sets
  // A path with backslashes is read in two ways, and what matches either of them matches a deny or an ask.
  const strict = sets.map((set) => new Set([...set].filter((index) => globs[index]?.effect !== 'allow')))
  const pairs =
    strict.length <= PAIRED_MAX
      ? strict.flatMap((one) => strict.map((two) => new Set([...one, ...two])))
      : undefined
  return pairs && distinct([...sets, ...pairs])
}

/** The most sets that are joined in pairs. */
const PAIRED_MAX = 50

type State = {
  readonly positions: readonly Positions[]
  readonly path: PathState
  readonly isDoubtful: boolean
}

/** Follows all texts through all globs at once. Texts that lead to the same state match the same globs from there on. */
class TextSets {
  readonly #globs: readonly ArgumentGlob[]
  readonly #kind: ArgumentKind
  readonly #matchers: readonly GlobAutomaton[]
  readonly #characters: readonly string[]

  constructor(globs: readonly ArgumentGlob[], kind: ArgumentKind) {
    this.#globs = globs
    this.#kind = kind
    this.#matchers = globs.map(({ glob }) => new GlobAutomaton(glob, globKind(kind)))
    const named = new Set(['/', '.', ...this.#matchers.flatMap(({ characters }) => characters)])
    // One character, and one doubtful character, stand for all that no glob names.
    this.#characters = [...named, unnamed(named, 0xe000), unnamed(named, 1)]
  }

  all(work: Work): readonly Matched[] | undefined {
    const start = {
      positions: this.#matchers.map(({ start: first }) => first),
      path: PATH_START,
      isDoubtful: false,
    }
    const states = new Map([[keyOf(start), start as State]])
    // A map that grows while it is iterated also gives its new entries.
    for (const state of states.values()) {
      if (!work.take(this.#characters.length * this.#matchers.length)) return undefined
      for (const character of this.#characters) {
        const next = this.#after(state, character)
        if (next) states.set(keyOf(next), next)
        if (states.size > GLOB_STATES_MAX) return undefined
      }
    }
    return [...states.values()].flatMap((state) => this.#matched(state) ?? [])
  }

  #after({ positions, path, isDoubtful: wasDoubtful }: State, character: string): State | undefined {
    const after = this.#kind === 'path' ? pathAfter(path, character) : path
    return (
      after && {
        positions: this.#matchers.map((matcher, index) =>
          matcher.after(positions[index] ?? NOWHERE, character),
        ),
        path: after,
        isDoubtful: wasDoubtful || isDoubtful(character, this.#kind),
      }
    )
  }

  /** The globs that the texts of a state match. Undefined for a path that is not normalised: it is compared as another one. */
  #matched({ positions, path, isDoubtful: isRefused }: State): Matched | undefined {
    if (this.#kind === 'path' && !isNormalised(path)) return undefined
    return matchedBy(this.#globs, (one) => {
      // oxlint-disable-next-line toolrack/linear-texts -- It is a list of objects.
      const index = this.#globs.indexOf(one)
      const matcher = this.#matchers[index]
      const at = positions[index] ?? NOWHERE
      if (!matcher || (one.effect === 'allow' && isRefused)) return false
      if (matcher.isEnd(at)) return true
      const isFolder = this.#kind === 'path' && one.effect !== 'allow' && isContentOfFolder(one.glob)
      return isFolder && matcher.isEnd(matcher.after(at, '/'))
    })
  }
}

const NOWHERE: Positions = new Int32Array(0)

function unnamed(named: ReadonlySet<string>, from: number): string {
  for (let code = from; ; code += 1) {
    const character = String.fromCodePoint(code)
    if (!named.has(character)) return character
  }
}

/** How far a normalised path has been read: whether it is absolute, whether all of its segments are `..`, and the last segment. */
type PathState = {
  readonly isAbsolute: boolean
  readonly isUp: boolean
  readonly isFirst: boolean
  readonly segment: '' | '.' | '..' | 'name'
}

const PATH_START: PathState = { isAbsolute: false, isUp: true, isFirst: true, segment: '' }

/** Undefined if no normalised path goes on so. */
function pathAfter(path: PathState, character: string): PathState | undefined {
  const { isAbsolute, isUp, isFirst, segment } = path
  if (character !== '/') {
    const dots = segment === '' ? '.' : '..'
    return { ...path, segment: character === '.' && (segment === '' || segment === '.') ? dots : 'name' }
  }
  if (segment === '') return isFirst && !isAbsolute ? { ...path, isAbsolute: true } : undefined
  if (segment === '.' || (segment === '..' && (isAbsolute || !isUp))) return undefined
  return { isAbsolute, isUp: isUp && segment === '..', isFirst: false, segment: '' }
}

function isNormalised({ isAbsolute, isUp, isFirst, segment }: PathState): boolean {
  if (segment === 'name') return true
  if (segment === '..') return isUp && !isAbsolute
  return isFirst && (segment === '.' ? !isAbsolute : isAbsolute)
}

function keyOf({ positions, path, isDoubtful: isRefused }: State): string {
  const at = positions.map((words) => words.join(' '))
  return [...at, ...Object.values(path), isRefused].join(',')
}

function distinct(sets: readonly Matched[]): readonly Matched[] {
  return [...new Map(sets.map((set) => [[...set].toSorted((a, b) => a - b).join(' '), set])).values()]
}
