import type { Reading } from '../kinds/argument-kind.ts'
import { isSpace } from '../kinds/text-edit.ts'

/**
 * An automaton that accepts the canonical texts of a reading. It begins in the state `start`. Each character leads to another
 * state or to none. If `isWhole` is true for a state, the text so far is accepted. The automaton may also accept a few texts that
 * are not canonical.
 */
export type Shape = {
  readonly start: number
  readonly after: (state: number, character: string) => number | undefined
  readonly isWhole: (state: number) => boolean
  /** Groups of characters that the automaton treats in the same way. So only one character of each group must be tried. */
  readonly alike: readonly string[]
  /** True if the automaton also accepts characters that are not in `alike`. */
  readonly takesOthers: boolean
}

export function shapeOf({ kind, edit }: Reading): Shape {
  const shape = edit === 'base64' ? BASE64 : (SHAPES.get(kind) ?? ANY)
  if (edit === undefined || edit === 'base64') return shape
  const cased = edit.endsWith('er') ? withCase(shape, edit.endsWith('lower')) : shape
  return edit.startsWith('strip') ? stripped(cased) : cased
}

const ANY: Shape = { start: 0, after: () => 0, isWhole: () => true, alike: [], takesOthers: true }

/** Flags in the state of a path: the path is absolute, all segments so far are `..`, and the present segment is the first one. */
const [ABSOLUTE, UP, FIRST] = [1, 2, 4] as const
/** What the present segment of a path is so far: empty, `.`, `..` or a name. */
const [EMPTY, DOT, DOTS, NAME] = [0, 8, 16, 24] as const

const PATH: Shape = {
  start: UP | FIRST,
  after(state, character) {
    const segment = state & NAME
    const before = state & ~NAME
    if (character === '.' && segment <= DOT) return before | (segment === EMPTY ? DOT : DOTS)
    if (character !== '/') return before | NAME
    if (segment === EMPTY) return state === (UP | FIRST) ? state | ABSOLUTE : undefined
    if (segment === DOT || (segment === DOTS && (state & ABSOLUTE || !(state & UP)))) return undefined
    return (state & ABSOLUTE) | (segment === DOTS ? UP : 0)
  },
  isWhole(state) {
    const segment = state & NAME
    if (segment === NAME) return true
    const isAbsolute = (state & ABSOLUTE) !== 0
    if (segment === DOTS) return (state & UP) !== 0 && !isAbsolute
    return (state & FIRST) !== 0 && (segment === DOT ? !isAbsolute : isAbsolute)
  },
  alike: ['/', '.'],
  takesOthers: true,
}

const HYPHENS = new Set([8, 13, 18, 23])

const UUID: Shape = {
  start: 0,
  after(at, character) {
    const isFit = HYPHENS.has(at) ? character === '-' : /^[\da-f]$/.test(character)
    return isFit && at < 36 ? at + 1 : undefined
  },
  isWhole: (at) => at === 36,
  alike: ['0123456789abcdef', '-'],
  takesOthers: false,
}

const DATE_ALIKE = ['0', '1', '2', '3', '45', '6789', '-']
/** For each position of `YYYY-MM-DDTHH:MM:SS`, the highest digit that is allowed, or the only character. */
const PLACES = ['9', '9', '9', '9', '-', '1', '9', '-', '3', '9', 'T', '2', '9', ':', '5', '9', ':', '5', '9']

/**
 * The state after one more character of a date. A state is ten times the position, plus the last digit if the next one depends on
 * it.
 */
function dateAfter(state: number, character: string): number | undefined {
  const at = Math.floor(state / 10)
  const place = PLACES[at]
  if (place === undefined) return undefined
  if (!/\d/.test(place)) return character === place ? (at + 1) * 10 : undefined
  if (!/^\d$/.test(character) || character > place) return undefined
  const digit = Number(character)
  if (!isInCalendar(at, state % 10, digit)) return undefined
  return (at + 1) * 10 + (BOUNDING.has(at) ? digit : 0)
}

/** The positions of the first digits of month, day and hour. The digit that follows depends on them. */
const BOUNDING = new Set([5, 8, 11])

/** False if the second digit makes a month, a day or an hour that does not exist. */
function isInCalendar(at: number, before: number, digit: number): boolean {
  if (at === 6) return before === 1 ? digit <= 2 : digit >= 1
  if (at === 9) return before === 3 ? digit <= 1 : before > 0 || digit >= 1
  return at !== 12 || before < 2 || digit <= 3
}

const DATE: Shape = {
  start: 0,
  after: (state, character) => (state < 100 ? dateAfter(state, character) : undefined),
  isWhole: (state) => state >= 100,
  alike: DATE_ALIKE,
  takesOthers: false,
}

/**
 * The states after the seconds of a date-time: at their end, after the point, after six digits of the fraction, and after the
 * zone.
 */
const [SECONDS_END, POINT, DIGITS_END, ZONE_END] = [190, 200, 260, 270] as const

const DATE_TIME: Shape = {
  start: 0,
  after(state, character) {
    if (state < SECONDS_END) return dateAfter(state, character)
    if (state >= ZONE_END) return undefined
    if (character === 'Z') return DATE_TIME.isWhole(state) ? ZONE_END : undefined
    const at = Math.floor(state / 10) * 10
    if (at === SECONDS_END) return character === '.' ? POINT : undefined
    return /^\d$/.test(character) && at < DIGITS_END ? at + 10 + Math.sign(Number(character)) : undefined
  },
  isWhole: (state) =>
    (state >= SECONDS_END && state < POINT) || (state > POINT && state % 10 > 0) || state === ZONE_END,
  alike: [...DATE_ALIKE, 'T', ':', '.', 'Z'],
  takesOthers: false,
}

/**
 * For each state, the next states for `-`, `0`, another digit and `.`. The states are:
 *
 * - 1: after the sign.
 * - 2: after a zero.
 * - 3: after a digit of a whole number.
 * - 4: after a zero that follows the sign. A fraction must follow.
 * - 5: after the point.
 * - 6: after a digit of the fraction.
 * - 7: after a zero of the fraction.
 */
const DECIMAL_NEXT: readonly (readonly (number | undefined)[])[] = [
  [1, 2, 3, undefined],
  [undefined, 4, 3, undefined],
  [undefined, undefined, undefined, 5],
  [undefined, 3, 3, 5],
  [undefined, undefined, undefined, 5],
  [undefined, 7, 6, undefined],
  [undefined, 7, 6, undefined],
  [undefined, 7, 6, undefined],
]

const DECIMAL: Shape = {
  start: 0,
  after: (state, character) => DECIMAL_NEXT[state]?.[decimalSort(character)],
  isWhole: (state) => state === 2 || state === 3 || state === 6,
  alike: ['-', '0', '123456789', '.'],
  takesOthers: false,
}

/** The groups of characters for the columns of the table above. The third group is every digit but 0. */
const DECIMAL_SORTS = ['-', '0', '', '.']

function decimalSort(character: string): number {
  if (/^[1-9]$/.test(character)) return 2
  return DECIMAL_SORTS.indexOf(character)
}

/** The schemes of URLs that always have a host and a path. */
const SPECIAL = ['http', 'https', 'ws', 'wss', 'ftp', 'file']
/** The states before the colon of a URL: every beginning of one of these schemes. */
const STARTS = [
  ...new Set(SPECIAL.flatMap((scheme) => Array.from(scheme, (_, at) => scheme.slice(0, at + 1)))),
]
/**
 * The other states of a URL: in another scheme, in the text after it, after the colon of a scheme with a host, before the host,
 * in the host, and in the path.
 */
const [OTHER_SCHEME, AFTER_OTHER, COLON, HOST_START, HOST, PATH_OF_URL] = [50, 51, 52, 56, 58, 60] as const
/** Is added to the states of a `file` URL before its path, because only the host of a file may be empty. */
const OF_FILE = 1

const URL_SHAPE: Shape = {
  start: STARTS.length,
  after(state, character) {
    if (!/^[ -~]$/.test(character)) return undefined
    if (state === AFTER_OTHER || state === PATH_OF_URL) return state
    if (state >= COLON) return hostAfter(state, character)
    const read = STARTS[state] ?? ''
    if (character === ':') {
      if (SPECIAL.includes(read)) return read === 'file' ? COLON + OF_FILE : COLON
      return state === URL_SHAPE.start ? undefined : AFTER_OTHER
    }
    if (!(state === URL_SHAPE.start ? /^[a-z]$/ : /^[a-z\d+.-]$/).test(character)) return undefined
    const next = state === OTHER_SCHEME ? -1 : STARTS.indexOf(`${read}${character}`)
    return next === -1 ? OTHER_SCHEME : next
  },
  isWhole: (state) => state === AFTER_OTHER || state === PATH_OF_URL,
  alike: [
    'abcdefghijklmnopqrstuvwxyz',
    '0123456789+.-',
    ':',
    '/',
    ...new Set(SPECIAL.join('')),
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ_~!$&',
  ],
  takesOthers: false,
}

function hostAfter(state: number, character: string): number | undefined {
  if (state < HOST_START) return character === '/' ? state + 2 : undefined
  if (character !== '/') return HOST
  return state === HOST_START ? undefined : PATH_OF_URL
}

/** The states 0 to 3 count the digits in a group of four. 4 is after the first of two `=`, and 5 is at the end. */
const BASE64: Shape = {
  start: 0,
  after(state, character) {
    if (character === '=') return state === 2 ? 4 : state === 3 || state === 4 ? 5 : undefined
    return state < 4 && /^[a-z\d+/]$/i.test(character) ? (state + 1) % 4 : undefined
  },
  isWhole: (state) => state === 0 || state === 5,
  alike: ['ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/', '='],
  takesOthers: false,
}

const SHAPES: ReadonlyMap<Reading['kind'], Shape> = new Map([
  ['path', PATH],
  ['url', URL_SHAPE],
  ['date', DATE],
  ['date-time', DATE_TIME],
  ['decimal', DECIMAL],
  ['uuid', UUID],
])

/** Makes an automaton that accepts no capitals, or no small letters. */
function withCase(shape: Shape, isLower: boolean): Shape {
  return {
    ...shape,
    after(state, character) {
      const cased = isLower ? character.toLowerCase() : character.toUpperCase()
      return character === cased ? shape.after(state, character) : undefined
    },
  }
}

/**
 * Makes an automaton for texts without white space at their ends. In the two lowest bits of a state, 1 means that the last
 * character was white space, and 2 means that there was no character yet.
 */
function stripped(shape: Shape): Shape {
  return {
    ...shape,
    start: shape.start * 4 + 2,
    after(state, character) {
      if (state & 2 && isSpace(character)) return undefined
      const next = shape.after(Math.floor(state / 4), character)
      return next === undefined ? undefined : next * 4 + (isSpace(character) ? 1 : 0)
    },
    isWhole: (state) => !(state & 1) && shape.isWhole(Math.floor(state / 4)),
  }
}
