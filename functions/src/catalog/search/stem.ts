/*
 * Porter's algorithm ("An algorithm for suffix stripping", 1980), so that `calculated` finds `calculates`. A word that is not
 * written in the letters a to z is not changed.
 */

const CONSONANTS = '[^aeiou][^aeiouy]*'
const VOWELS = '[aeiouy][aeiou]*'

/**
 * These three patterns match a word with at least one, exactly one, and at least two sequences of vowels and then consonants.
 * Porter's algorithm calls this m > 0, m = 1 and m > 1.
 */
const SOME = new RegExp(`^(?:${CONSONANTS})?${VOWELS}${CONSONANTS}`)
const ONE = new RegExp(`^(?:${CONSONANTS})?${VOWELS}${CONSONANTS}(?:${VOWELS})?$`)
const TWO = new RegExp(`^(?:${CONSONANTS})?(?:${VOWELS}${CONSONANTS}){2}`)
const HAS_VOWEL = new RegExp(`^(?:${CONSONANTS})?[aeiouy]`)
/** Matches a word that ends with a consonant, a vowel and a consonant, such as `hop`. */
const SHORT = new RegExp(`^${CONSONANTS}[aeiouy][^aeiouwxy]$`)

/** The endings and what replaces them. A longer ending comes before the shorter endings that it contains. */
const STEP_2: readonly (readonly [ending: string, by: string])[] = [
  ['ational', 'ate'],
  ['ization', 'ize'],
  ['iveness', 'ive'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['tional', 'tion'],
  ['biliti', 'ble'],
  ['entli', 'ent'],
  ['ousli', 'ous'],
  ['ation', 'ate'],
  ['alism', 'al'],
  ['aliti', 'al'],
  ['iviti', 'ive'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['izer', 'ize'],
  ['alli', 'al'],
  ['ator', 'ate'],
  ['logi', 'log'],
  ['bli', 'ble'],
  ['eli', 'e'],
]
const STEP_3: typeof STEP_2 = [
  ['icate', 'ic'],
  ['ative', ''],
  ['alize', 'al'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ness', ''],
  ['ful', ''],
]
const STEP_4 = /(?:al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|ou|ism|ate|iti|ous|ive|ize)$/

/** The stem of a word in lower case. */
export function stem(word: string): string {
  if (word.length < 3 || !/^[a-z]+$/.test(word)) return word
  // A `y` at the beginning is a consonant. Porter's other rules about `y` are in the patterns.
  const start = word.startsWith('y') ? `Y${word.slice(1)}` : word
  const whole = longEndings(replaced(replaced(yToI(pastAndPresent(singular(start))), STEP_2), STEP_3))
  return lastLetters(whole).toLowerCase()
}

function singular(word: string): string {
  if (/(?:ss|i)es$/.test(word)) return word.slice(0, -2)
  return /[^s]s$/.test(word) ? word.slice(0, -1) : word
}

function pastAndPresent(word: string): string {
  if (word.endsWith('eed')) return SOME.test(word.slice(0, -3)) ? word.slice(0, -1) : word
  const ending = /(?:ed|ing)$/.exec(word)
  if (!ending) return word
  const rest = word.slice(0, ending.index)
  if (!HAS_VOWEL.test(rest)) return word
  if (/(?:at|bl|iz)$/.test(rest)) return `${rest}e`
  if (/([^aeiouylsz])\1$/.test(rest)) return rest.slice(0, -1)
  return SHORT.test(rest) ? `${rest}e` : rest
}

function yToI(word: string): string {
  const rest = word.slice(0, -1)
  return word.endsWith('y') && HAS_VOWEL.test(rest) ? `${rest}i` : word
}

function replaced(word: string, endings: typeof STEP_2): string {
  // oxlint-disable-next-line toolrack/linear-texts -- The endings are constants, and a word has at most 40 characters.
  const found = endings.find(([ending]) => word.endsWith(ending))
  if (!found) return word
  const rest = word.slice(0, -found[0].length)
  return SOME.test(rest) ? rest + found[1] : word
}

function longEndings(word: string): string {
  const ending = STEP_4.exec(word) ?? /(?<=[st])ion$/.exec(word)
  if (!ending) return word
  const rest = word.slice(0, ending.index)
  return TWO.test(rest) ? rest : word
}

/**
 * Removes the last `e`, `i` or `y` of a longer stem, so that `history` and `historical` get the same stem. Porter's algorithm has
 * no such step.
 */
function lastLetters(word: string): string {
  const rest = word.slice(0, -1)
  const without =
    word.endsWith('e') && (TWO.test(rest) || (ONE.test(rest) && !SHORT.test(rest))) ? rest : word
  const single = without.endsWith('ll') && TWO.test(without) ? without.slice(0, -1) : without
  return single.length > 4 ? single.replace(/[iey]$/, '') : single
}
