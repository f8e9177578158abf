import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from '../json.ts'
import type { Reading } from '../kinds/argument-kind.ts'
import { globsFor } from './argument-globs.ts'
import {
  AS_SENT,
  globKind,
  hasDoubt,
  isContentOfFolder,
  matchesArgument,
  readValue,
} from './argument-text.ts'
import { shapeOf, type Shape } from './canonical-shape.ts'
import { matchesEveryText } from './glob.ts'
import { GlobAutomaton, type Positions } from './glob-automaton.ts'
import { comparedTogether } from './rule-globs.ts'
import type { RuleEffect } from './rule-set.ts'

/** The glob of one rule for one argument, and the effect of the rule. */
export type ArgumentGlob = { readonly glob: string; readonly effect: RuleEffect }

/** The indices of the globs that a value matches. */
type Matched = ReadonlySet<number>

/** The most states of the automata of all globs of an argument together. With more, the comparison is given up. */
export const GLOB_STATES_MAX = 500

/** Counts the steps of a comparison. If fewer steps are left, `take` returns false, and the comparison is given up. */
export type Work = { readonly take: (steps: number) => boolean }

/**
 * Finds, for each value that the argument may have, the set of all globs that the value matches. Undefined if this takes too
 * long, or gives too many sets. The result may have a few sets that belong to no value, but it lacks none.
 */
export function matchedSets(
  { readings, listed, mayBeText, mayBeOther }: Values,
  globs: readonly ArgumentGlob[],
  work: Work,
): readonly Matched[] | undefined {
  const characters = listed.reduce<number>((sum, value) => sum + lengthOf(value), 0)
  // A text is compared with all globs at once, but a path with one glob after the other.
  const isPath = readings.some(({ kind }) => kind === 'path')
  const compared = isPath ? characters * globs.length : characters
  if (!work.take(compared + listed.length * globs.length)) return undefined
  const compare = comparedTogether(globs.map(({ glob }) => glob))
  const sets = listed.map((value) => {
    const read = readValue(value, readings)
    return matchedBy(globs, ({ glob, effect }) => matchesArgument(glob, read, effect, compare))
  })
  if (mayBeOther) sets.push(strictest(globs))
  const ofTexts = mayBeText ? textSets(globs, readings, work) : []
  return ofTexts && distinct([...sets, ...ofTexts])
}

function lengthOf(value: JsonValue): number {
  return typeof value === 'string' ? value.length : 0
}

/** The values that an argument may have. A call with another value is refused before, because it does not match the schema. */
export type Values = {
  readonly readings: readonly Reading[]
  readonly listed: readonly JsonValue[]
  readonly mayBeText: boolean
  /** True if the argument may be missing, or may be something that rules do not read as a text, such as a number. */
  readonly mayBeOther: boolean
}

export function valuesOf(name: string, parameters: JsonObject, readings: readonly Reading[]): Values {
  const { properties, required } = parameters
  const schema = isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined
  const others = { readings, listed: [], mayBeText: readings.length > 0, mayBeOther: true }
  if (schema === undefined && isClosed(parameters)) return { ...others, mayBeText: false }
  // If the schema has a `$ref`, its other keywords are not used, because older drafts ignore them.
  if (!isJsonObject(schema) || '$ref' in schema) return others
  const { const: only, enum: some = null, type } = schema
  const listed = only === undefined ? some : [only]
  // oxlint-disable-next-line toolrack/linear-texts -- It is a list of names.
  const isRequired = Array.isArray(required) && required.includes(name)
  if (isJsonArray(listed) && listed.length > 0)
    return { readings, listed, mayBeText: false, mayBeOther: !isRequired }
  // Rules treat a very long text like a value that is not a text. So an argument that must be a text may still be such a value.
  return { ...others, mayBeOther: !isRequired || type !== 'string' || !readings.every(isShort) }
}

/** The kinds whose values are always short enough for rules. A longer text is not a value of these kinds, so it is refused. */
const BOUNDED_KINDS: ReadonlySet<Reading['kind']> = new Set(['uuid', 'date', 'date-time'])

function isShort({ kind, edit }: Reading): boolean {
  return edit === undefined && BOUNDED_KINDS.has(kind)
}

/** True if the schema allows no arguments except those that it declares. */
function isClosed({
  additionalProperties,
  patternProperties,
  $ref,
  allOf,
  anyOf,
  oneOf,
}: JsonObject): boolean {
  if ([$ref, allOf, anyOf, oneOf, patternProperties].some((keyword) => keyword !== undefined)) return false
  return additionalProperties === false
}

function matchedBy(globs: readonly ArgumentGlob[], matches: (one: ArgumentGlob) => boolean): Matched {
  return new Set(globs.flatMap((one, index) => (matches(one) ? [index] : [])))
}

/** The globs that match if rules do not read the value as a text. */
function strictest(globs: readonly ArgumentGlob[]): Matched {
  return matchedBy(globs, ({ effect }) => effect !== 'allow')
}

/** The kinds of which not every text is a value. */
const CHOOSY: ReadonlySet<Reading['kind']> = new Set(['url', 'date', 'date-time', 'decimal', 'uuid'])

/** True if the glob matches every text that is read in one of these ways. */
export function matchesEachText(glob: string, readings: readonly Reading[]): boolean {
  const matching = readings.filter(
    (reading) => reading.kind === 'value' || matchesEveryText(glob, globKind(reading.kind)),
  )
  return matching.length === readings.length || matching.some(({ kind }) => !CHOOSY.has(kind))
}

function textSets(
  globs: readonly ArgumentGlob[],
  readings: readonly Reading[],
  work: Work,
): readonly Matched[] | undefined {
  if (readings.some(({ kind }) => kind === 'value')) return [strictest(globs)]
  // At the start no reading is known. Then every `allow` matches, and no other rule does.
  let joined: readonly (Matched | undefined)[] = [undefined]
  for (const reading of readings.length > 1 ? [...readings, AS_SENT] : readings) {
    const own = setsOfReading(globs, reading, work)
    const isSure = readings.length === 1 || (reading !== AS_SENT && !CHOOSY.has(reading.kind))
    const ways = own && !isSure ? [...own, undefined] : own
    if (!ways || joined.length * ways.length > JOINED_MAX) return undefined
    if (!work.take(joined.length * ways.length * globs.length)) return undefined
    joined = joined.flatMap((one) => ways.map((other) => bothOf(globs, one, other)))
    joined = [
      ...(joined.some((one) => one === undefined) ? [undefined] : []),
      ...distinct(joined.filter((one) => one !== undefined)),
    ]
  }
  return joined.filter((one) => one !== undefined)
}

/** The most sets that are joined if an argument can be read in several ways. */
const JOINED_MAX = 2_500

/**
 * The globs that match a text that has two readings. A `deny` or `ask` matches if one of the readings matches. An `allow` matches
 * only if both do.
 */
function bothOf(globs: readonly ArgumentGlob[], one: Matched | undefined, other: Matched | undefined) {
  if (!one || !other) return one ?? other
  return new Set(
    globs.flatMap(({ effect }, index) => {
      const [first, second] = [one.has(index), other.has(index)]
      return (effect === 'allow' ? first && second : first || second) ? [index] : []
    }),
  )
}

function setsOfReading(
  globs: readonly ArgumentGlob[],
  reading: Reading,
  work: Work,
): readonly Matched[] | undefined {
  const sets = new TextSets(globs, reading).all(work)
  if (!sets || reading.kind !== 'path' || !globs.some(({ effect }) => effect === 'ask')) return sets
  // A path with backslashes can be read in two ways. If a `deny` or `ask` matches one of them, it matches the path.
  const strict = sets.map((set) => new Set([...set].filter((index) => globs[index]?.effect !== 'allow')))
  const pairs =
    strict.length <= PAIRED_MAX
      ? strict.flatMap((one) => strict.map((two) => new Set([...one, ...two])))
      : undefined
  return pairs && distinct([...sets, ...pairs])
}

/** The most sets of which all pairs are joined. Pairs are needed for paths with backslashes, which can be read in two ways. */
const PAIRED_MAX = 50

/**
 * True if a canonical text of this reading may match the glob of a rule with this effect. True too if finding out would take too
 * long.
 */
export function mayMatch(glob: string, reading: Reading, effect: RuleEffect): boolean {
  if (!CHOOSY.has(reading.kind) && reading.kind !== 'path') return true
  let left = MAY_MATCH_STEPS_MAX
  return new TextSets([{ glob, effect }], reading).some({ take: (steps) => (left -= steps) >= 0 })
}

/** The most steps for finding out whether a glob can match any text of its kind. If more are needed, the glob is accepted. */
const MAY_MATCH_STEPS_MAX = 60_000

type State = {
  readonly positions: readonly Positions[]
  /** The state of the automaton that accepts canonical texts (`Shape`). */
  readonly shape: number
  readonly isDoubtful: boolean
}

/** A glob of a rule. There is an automaton for each glob that `globsFor` returns. `first` is the index of the first of them. */
type Matcher = ArgumentGlob & { readonly isFolder: readonly boolean[]; readonly first: number }

/**
 * Follows all canonical texts through all globs at once. If two texts lead to the same state, any continuation of them matches
 * the same globs.
 */
class TextSets {
  readonly #reading: Reading
  readonly #shape: Shape
  readonly #matchers: readonly Matcher[]
  readonly #automata: readonly GlobAutomaton[]
  readonly #characters: readonly string[]
  /** How many steps it takes to follow one character. */
  readonly #words: number

  constructor(globs: readonly ArgumentGlob[], reading: Reading) {
    this.#reading = reading
    this.#shape = shapeOf(reading)
    const automata: GlobAutomaton[] = []
    this.#matchers = globs.map((one) => {
      const first = automata.length
      const all = globsFor(one.glob, reading, one.effect)
      automata.push(...all.map((glob) => new GlobAutomaton(glob, globKind(reading.kind))))
      const isCaught = reading.kind === 'path' && one.effect !== 'allow'
      return { ...one, first, isFolder: all.map((glob) => isCaught && isContentOfFolder(glob)) }
    })
    this.#automata = automata
    this.#characters = charactersFor(this.#shape, automata)
    this.#words = automata.reduce((sum, { words }) => sum + words, 0)
  }

  all(work: Work): readonly Matched[] | undefined {
    const found: Matched[] = []
    for (const state of this.#states(work)) {
      if (state === 'too many') return undefined
      const matched = this.#matched(state)
      if (matched) found.push(matched)
    }
    return distinct(found)
  }

  /** True if some text matches a glob, or if finding out would take too long. */
  some(work: Work): boolean {
    for (const state of this.#states(work))
      if (state === 'too many' || (this.#matched(state)?.size ?? 0) > 0) return true
    return false
  }

  *#states(work: Work): Generator<State | 'too many'> {
    const start: State = {
      positions: this.#automata.map(({ start: first }) => first),
      shape: this.#shape.start,
      isDoubtful: false,
    }
    const states = new Map([[keyOf(start), start]])
    // Iterating over a map also yields entries that are added meanwhile.
    for (const state of states.values()) {
      yield state
      const isLeft = work.take(this.#characters.length * this.#words)
      if (!isLeft || states.size > GLOB_STATES_MAX) {
        yield 'too many'
        return
      }
      for (const character of this.#characters) {
        const next = this.#after(state, character)
        if (next) states.set(keyOf(next), next)
      }
    }
  }

  #after({ positions, shape, isDoubtful }: State, character: string): State | undefined {
    const after = this.#shape.after(shape, character)
    if (after === undefined) return undefined
    return {
      positions: this.#automata.map((automaton, index) =>
        automaton.after(positions[index] ?? NOWHERE, character),
      ),
      shape: after,
      isDoubtful: isDoubtful || hasDoubt(character, this.#reading.kind),
    }
  }

  /**
   * The globs that match the text of a state. Undefined if the text is not canonical, because it would be compared in its
   * canonical spelling.
   */
  #matched({ positions, shape, isDoubtful }: State): Matched | undefined {
    if (!this.#shape.isWhole(shape)) return undefined
    const { kind } = this.#reading
    const isZoneless = kind === 'date-time' && this.#shape.after(shape, 'Z') !== undefined
    const ends = (place: number, character: string): boolean => {
      const automaton = this.#automata[place]
      return automaton?.isEnd(automaton.after(positions[place] ?? NOWHERE, character)) ?? false
    }
    const isEnd = (place: number): boolean =>
      this.#automata[place]?.isEnd(positions[place] ?? NOWHERE) ?? false
    return matchedBy(this.#matchers, (one) => {
      const { effect, first, isFolder } = one as Matcher
      if (effect === 'allow')
        return !isDoubtful && kind !== 'other' && isEnd(first) && (!isZoneless || ends(first, 'Z'))
      return isFolder.some((isContent, index) => {
        const place = first + index
        return isEnd(place) || (isContent && ends(place, '/')) || (isZoneless && ends(place, 'Z'))
      })
    })
  }
}

const NOWHERE: Positions = new Int32Array(0)

/**
 * The characters that must be tried: every character that is in a glob, and of each group that the globs and the shape treat in
 * the same way, one character.
 */
function charactersFor({ alike, takesOthers }: Shape, automata: readonly GlobAutomaton[]): readonly string[] {
  const named = new Set(automata.flatMap(({ characters }) => characters))
  const ofGroups = alike.flatMap((group) => [...group].find((one) => !named.has(one)) ?? [])
  // An ordinary and a doubtful character stand for all characters that are in no glob.
  const others = takesOthers ? [unnamed(named, 0xe000), unnamed(named, 1)] : []
  return [...new Set([...named, ...ofGroups, ...others])]
}

function unnamed(named: ReadonlySet<string>, from: number): string {
  for (let code = from; ; code += 1) {
    const character = String.fromCodePoint(code)
    if (!named.has(character)) return character
  }
}

function keyOf({ positions, shape, isDoubtful }: State): string {
  return [...positions.map((words) => words.join(' ')), shape, isDoubtful].join(',')
}

function distinct(sets: readonly Matched[]): readonly Matched[] {
  return [...new Map(sets.map((set) => [[...set].toSorted((a, b) => a - b).join(' '), set])).values()]
}
