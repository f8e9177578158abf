import { termsOf } from './words.ts'

/*
 * General English only. A group has everyday words for the same thing, as a thesaurus has them. A hint is a word for the kind of
 * thing that a request names: a request in dollars is about a currency, one that asks "when" is about a time.
 */

const SAME: readonly string[] = [
  'calculate compute determine evaluate',
  'find search locate look discover',
  'get retrieve fetch obtain provide return show give tell',
  'create generate make build',
  'buy purchase order',
  'book reserve reservation',
  'price cost',
  'average mean',
  'predict forecast estimate projection',
  'film movie',
  'road route path direction',
  'convert conversion exchange change',
  'distance far',
  'duration long',
  'rank ranking standing',
  'biggest largest maximum highest',
  'smallest minimum lowest',
  'match game',
  'near nearby close nearest around',
  'info information detail',
  'lawsuit case',
  'player athlete',
  'winner won win champion',
  'company firm corporation',
  'delete remove erase',
  'send deliver',
  'start begin initial',
  'end final finish',
  'photo picture image',
  'car vehicle',
  'doctor physician',
  'population people demographic',
  'painting artwork',
  'invest investment',
  'probability chance odds likelihood',
  'lawyer attorney',
  'salary wage',
  'error exception bug',
  'shop store',
  'repair fix',
  'phone telephone',
  'update modify edit',
]

const MONTHS_AND_DAYS =
  'january february march april june july august september october november december monday tuesday wednesday thursday friday ' +
  'saturday sunday today tomorrow yesterday'
const YEAR = /\b(?:1[5-9]|20)\d\d\b/
const UNITS =
  'inch inches foot feet yard yards mile miles mm cm km centimeter centimeters kilometer kilometers meter meters metre metres ' +
  'ounce ounces oz pound pounds lb lbs mg kg gram grams kilogram kilograms ml liter liters litre litres cup cups tablespoon ' +
  'teaspoon gallon gallons celsius fahrenheit mph kph'
const CURRENCIES = 'dollar dollars euro euros yen pound pounds usd eur gbp jpy rupee rupees yuan franc francs'
const NUMBERS =
  'one two three four five six seven eight nine ten eleven twelve dozen hundred thousand million half quarter twice'

/** A hint applies if the query has the pattern, or this many of the words. */
type Hint = {
  readonly words?: ReadonlySet<string>
  readonly count?: number
  readonly pattern?: RegExp
  readonly terms: readonly string[]
}

const HINTS: readonly Hint[] = [
  hint('date time', { pattern: /\bwhen\b/i }),
  hint('name person', { pattern: /\bwho\b/i }),
  hint('location', { pattern: /\bwhere\b/i }),
  hint('year date', { pattern: YEAR }),
  hint('date', { words: MONTHS_AND_DAYS }),
  hint('unit', { words: UNITS }),
  hint('convert conversion measurement', { words: UNITS, count: 2 }),
  hint('currency', { words: CURRENCIES }),
  hint('convert conversion exchange', { words: CURRENCIES, count: 2 }),
  hint('amount', { pattern: /[$€£¥]/ }),
  hint('rate percentage', { pattern: /%|\bpercent/i }),
  hint('location city', { pattern: /\b(?:in|at|near|from|to|of|around) [A-Z][a-z]/ }),
  hint('distance', { pattern: /\bhow far\b/i }),
  hint('duration', { pattern: /\bhow long\b/i }),
  hint('number amount', { pattern: /\bhow (?:many|much)\b/i }),
  hint('forecast predict', { pattern: /\b(?:will|next|upcoming|coming|tomorrow|future|going to)\b/i }),
]

function hint(terms: string, { words, ...when }: { words?: string; count?: number; pattern?: RegExp }): Hint {
  const set = words === undefined ? {} : { words: new Set(words.split(' ')) }
  return { ...when, ...set, terms: termsOf(terms.split(' ')) }
}

const SYNONYMS = new Map<string, Set<string>>()
for (const group of SAME) {
  const terms = new Set(termsOf(group.split(' ')))
  for (const term of terms) SYNONYMS.set(term, new Set([...(SYNONYMS.get(term) ?? []), ...terms]))
}

/** Other terms for the same thing. */
export function synonymsOf(term: string): Iterable<string> {
  return SYNONYMS.get(term) ?? []
}

/** Terms for the kinds of things that the query names. */
export function hintsOf(query: string, words: readonly string[]): ReadonlySet<string> {
  const distinct = [...new Set(words)]
  const applying = HINTS.filter(
    ({ words: of, count = 1, pattern }) =>
      pattern?.test(query) || (of && distinct.filter((word) => of.has(word)).length >= count),
  )
  return new Set(applying.flatMap(({ terms }) => terms))
}

const TIME_WORDS = new Set(
  (
    `${MONTHS_AND_DAYS} jan feb mar apr jun jul aug sep sept oct nov dec tonight weekend ` +
    'date dates day days week weeks month months year years'
  ).split(' '),
)

/** The month that is also a common word, and dates such as 3/12 and 3-12. */
const SHORT_DATE = /\bMay\b|\d[/-]\d/

/** False for a query that names no date. True for one with words in another script, whose words for dates are not known here. */
export function mayNameDate(query: string, words: readonly string[]): boolean {
  return (
    YEAR.test(query) ||
    SHORT_DATE.test(query) ||
    words.some((word) => TIME_WORDS.has(word) || /[^\0-\x7f]/.test(word))
  )
}

/** Words with capitals that do not begin a sentence, or a text in quotation marks. */
const PROPER_NAME =
  /(?<=[^.?!\s]\s)\p{Lu}[\p{L}\p{N}.&'-]*(?:\s\p{Lu}[\p{L}\p{N}.&'-]*)*|(?<!\p{L})'[^']{1,100}'|"[^"]{1,100}"/gu

/** How many proper names and quoted texts the query has. */
export function properNamesIn(query: string): number {
  return query.match(PROPER_NAME)?.length ?? 0
}

const NUMBER_WORDS = new Set(NUMBERS.split(' '))

/** How many numbers the query has, in digits or as words. */
export function numbersIn(query: string, words: readonly string[]): number {
  const digits = query.match(/\d+(?:[.,]\d+)*/g) ?? []
  return digits.length + words.filter((word) => NUMBER_WORDS.has(word)).length
}
