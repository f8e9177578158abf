import { stem } from './stem.ts'

/** Words that say nothing about which tool is meant. They are used only for a query that has no other words. */
const STOP_WORDS = new Set(
  (
    'a an and any are as at be been being both but by can could did do does doing for from given had has have having he her him ' +
    'his i if in into is it its just let like may me might must my no not of on or our please shall she should so some such than ' +
    'that the their them then there these they this those to us using very want was we were what which while whom whose why will ' +
    'with would you your also'
  ).split(' '),
)

/** Scripts that are written without spaces: each pair of neighbouring letters counts as a word. */
const WITHOUT_SPACES =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const RUNS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu

/** UTF-16 code units of a word that count. The beginning of a longer word is as good for finding it. */
const WORD_LENGTH_MAX = 40

/**
 * The first letters of a word in a script other than Latin that count. Languages such as Russian and Greek inflect the ends of
 * words, so the beginning finds the other forms too.
 */
const OTHER_SCRIPT_LENGTH = 5

/** Splits a text or a name at everything that is no letter and no digit, and at capitals: `getHTTPStatus` is three words. */
export function splitWords(text: string): readonly string[] {
  const apart = text
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
  return apart.match(/[\p{L}\p{N}]+/gu) ?? []
}

/** The terms of words: stems, beginnings, or pairs of letters, whatever fits the script. */
export function termsOf(words: Iterable<string>): readonly string[] {
  const terms: string[] = []
  for (const word of words)
    if (WITHOUT_SPACES.test(word))
      for (const run of word.match(RUNS) ?? []) for (const term of pairsOrTerm(run)) terms.push(term)
    else terms.push(termOf(word))
  return terms
}

function termOf(word: string): string {
  if (/^[\0-\x7f]*$/.test(word)) return stem(word.slice(0, WORD_LENGTH_MAX))
  return Array.from(word).slice(0, OTHER_SCRIPT_LENGTH).join('')
}

function pairsOrTerm(run: string): readonly string[] {
  if (!WITHOUT_SPACES.test(run)) return [termOf(run)]
  const letters = Array.from(run)
  return letters.length === 1
    ? letters
    : letters.slice(1).map((letter, index) => `${letters[index]}${letter}`)
}

/** True for a word that tells tools apart. Numbers alone are mostly arguments. */
export function isTelling(word: string): boolean {
  return !STOP_WORDS.has(word) && !/^\p{N}+$/u.test(word) && (word.length > 1 || !/^[a-z]$/.test(word))
}
