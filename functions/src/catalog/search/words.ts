import { stem } from './stem.ts'

/** Words that do not tell which tool is meant, such as articles, prepositions and greetings. */
const STOP_WORDS = new Set(
  (
    'a about all am an and any are as at be been being both but by can could did do does doing for from given had has have having he ' +
    'her here him his how i if in into is it its just let like may me might must my no not now of on only or our shall she should so ' +
    'some such than that the their them then there these they this those to too us using very was we were what when where which ' +
    'while who whom whose why will with would you your also anyone anything everyone everything someone something thing things ' +
    'don doesn didn isn aren wasn couldn wouldn shouldn ll re ve ' +
    'bye good great hello help hey hi kindly know lot much need needed needs nice ok okay please really sure thank thanks want wanted wants yes'
  ).split(' '),
)
const NUMBERS = new Set(
  'one two three four five six seven eight nine ten eleven twelve hundred thousand'.split(' '),
)

/** Letters of scripts that are written without spaces. In them, each pair of neighboring letters counts as a word. */
const WITHOUT_SPACES =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const RUNS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu

/** The most UTF-16 code units of a word that are used. The beginning of a longer word is enough to find it. */
const WORD_LENGTH_MAX = 40

/**
 * How many first letters of a word are used in scripts other than Latin. Languages such as Russian and Greek inflect the ends of
 * words, so the first letters also find the other forms of the word.
 */
const OTHER_SCRIPT_LENGTH = 5

/**
 * Splits a text or a name at all characters that are neither letters nor digits, and at capitals: `getHTTPStatus` is three words.
 */
export function splitWords(text: string): readonly string[] {
  const apart = text
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    // Long runs of combining marks are removed first, because their normalization takes quadratic time.
    .replace(/\p{M}+/gu, '')
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
  return apart.match(/[\p{L}\p{N}]+/gu) ?? []
}

/** Converts words to the terms of the index: stems, first letters, or pairs of letters, depending on the script. */
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

/** True if a word helps to tell tools apart. A number does not help, because it is mostly the value of an argument. */
export function isTelling(word: string): boolean {
  return !STOP_WORDS.has(word) && !isNumber(word) && (word.length > 1 || !/^[a-z]$/.test(word))
}

export function isNumber(word: string): boolean {
  return NUMBERS.has(word) || /^\p{N}+$/u.test(word)
}

/** Hashes of all pairs of neighboring words, each only once. */
export function phrasesIn(words: readonly string[]): readonly number[] {
  return [...new Set(words.slice(1).map((word, index) => hashOf(`${words[index]} ${word}`)))]
}

const { imul } = Math

/** The hash FNV-1a with 32 bits. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) hash = imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash >>> 0
}
