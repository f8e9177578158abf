import { randomNumbers } from './random-numbers.ts'

/**
 * A text and patterns that are bad for engines that are not linear: a search begins again at each character, gets far, and fails.
 * `patterns` are literal texts; `globs` has them as globs.
 */
export type BadTexts = { readonly title: string; readonly text: string; readonly patterns: readonly string[] }

/** V8 looks for a text linearly only up to so many units, or until so much of it has matched in vain. */
const V8_LIMITS = [7, 8, 249, 250, 251] as const

/** Repeats a text to exactly this length. */
export function filled(part: string, length: number): string {
  return part.repeat(Math.ceil(length / part.length)).slice(0, length)
}

/** The word that is its own two beginnings, again and again: `abaababa…`. Nearly every part of it is periodic. */
export function fibonacciWord(length: number): string {
  let [before, word] = ['a', 'ab']
  while (word.length < length) [before, word] = [word, word + before]
  return word.slice(0, length)
}

/** The word that never has the same part three times in a row: `abbabaab…`. */
export function thueMorseWord(length: number): string {
  let word = 'a'
  while (word.length < length) word += Array.from(word, (letter) => (letter === 'a' ? 'b' : 'a')).join('')
  return word.slice(0, length)
}

/** Texts of this length with patterns of up to `patternMax` units, together at most `patternsMax`. */
export function badTexts(length: number, patternMax = 256, patternsMax = 200): readonly BadTexts[] {
  const runs = (unit: string, lengths: readonly number[]): string[] =>
    lengths.map((count) => filled(unit, Math.min(count, patternMax)))
  const numbered = Array.from({ length: patternsMax }, (_, at) => String(at).padStart(3, '0'))
  const sets: readonly BadTexts[] = [
    {
      title: 'one letter',
      text: filled('a', length),
      patterns: runs('a', [1, 2, 3, ...V8_LIMITS, patternMax]),
    },
    {
      title: 'near misses that differ at their beginning',
      text: filled('a', length),
      patterns: numbered.map((number) => `a${number}${filled('a', patternMax - 4)}`),
    },
    {
      title: 'near misses that differ at their end',
      text: filled('a', length),
      patterns: numbered.map((number) => `${filled('a', patternMax - 3)}${number}`),
    },
    {
      title: 'near misses in the middle, at the limits of V8',
      text: filled('a', length),
      patterns: V8_LIMITS.flatMap((before) =>
        V8_LIMITS.map((after) => `${filled('a', before)}b${filled('a', after)}`.slice(0, patternMax)),
      ),
    },
    {
      title: 'runs that are cut again and again',
      text: filled(`${filled('a', patternMax - 2)}b`, length),
      patterns: [
        ...Array.from({ length: patternsMax }, (_, at) => filled('a', 1 + (at % (patternMax - 1)))),
        filled('a', patternMax),
      ],
    },
    {
      title: 'two letters in turns',
      text: filled('ab', length),
      patterns: [...runs('ab', V8_LIMITS), ...runs('ba', V8_LIMITS), `${filled('ab', patternMax - 1)}c`],
    },
    {
      title: 'a Fibonacci word',
      text: fibonacciWord(length),
      patterns: [...V8_LIMITS, patternMax].flatMap((count) => [
        fibonacciWord(Math.min(count, patternMax)),
        `${fibonacciWord(Math.min(count, patternMax) - 1)}c`,
      ]),
    },
    {
      title: 'a Thue-Morse word',
      text: thueMorseWord(length),
      patterns: [...V8_LIMITS, patternMax].flatMap((count) => [
        thueMorseWord(Math.min(count, patternMax)),
        `${thueMorseWord(Math.min(count, patternMax) - 1)}c`,
      ]),
    },
    {
      title: 'many equal patterns',
      text: filled('ab', length),
      patterns: Array.from({ length: patternsMax }, () => `${filled('ab', patternMax - 1)}c`),
    },
    {
      title: 'patterns that overlap each other',
      text: filled('abc', length),
      patterns: Array.from({ length: patternsMax }, (_, at) =>
        filled('abc', patternMax + 3).slice(at % 3, 3 + at),
      ),
    },
    {
      title: 'patterns within patterns',
      text: filled('a', length),
      patterns: Array.from({ length: Math.min(patternsMax, patternMax - 1) }, (_, at) => filled('a', at + 1)),
    },
    {
      title: 'halves of characters beyond U+FFFF',
      text: filled('\u{1f600}\ud83d', length),
      patterns: [...runs('\u{1f600}', V8_LIMITS), ...runs('\ud83d', V8_LIMITS), ...runs('\ude00', V8_LIMITS)],
    },
    {
      title: 'escapes',
      text: filled('\\', length),
      patterns: [...runs('\\', V8_LIMITS), `${filled('\\', patternMax - 1)}"`],
    },
    {
      title: 'line breaks',
      text: filled('\n', length),
      patterns: [...runs('\n', V8_LIMITS), `\na${filled('\n', patternMax - 2)}`],
    },
  ]
  return sets.map((set) => ({ ...set, patterns: set.patterns.slice(0, patternsMax) }))
}

/** Globs of the patterns: each of them anywhere, and each at an end, several times, or behind what is never found. */
export function badGlobs({ patterns }: Pick<BadTexts, 'patterns'>, lengthMax = 256): readonly string[] {
  const shapes = [
    (one: string) => `*${one}`,
    (one: string) => `${one}*`,
    (one: string) => `*\u0001*${one}*`,
    (one: string) => `*${one.slice(0, lengthMax / 3)}*${one.slice(0, lengthMax / 3)}*`,
    (one: string) => filled(`*${one.slice(0, 1)}`, lengthMax),
    (one: string) => `*${filled(`${one.slice(0, 2)}*`, lengthMax - 2)}\u0001`,
  ]
  const anywhere = patterns.map((one) => `*${one.slice(0, lengthMax - 2)}*`)
  const shaped = patterns.map((one, at) => shapes[at % shapes.length]?.(one) ?? one)
  return [...anywhere, ...shaped.map((glob) => glob.slice(0, lengthMax))]
}

/** Parts that begin what a filter of texts looks for. A text of many of them makes it begin again and again. */
export const BEGINNINGS: readonly string[] = [
  [
    'eyJ-',
    'eyJaaaaa.',
    'sk-a ',
    'ghp_',
    'AKIA',
    'xoxb-',
    'hooks.slack.com/',
    'bearer ',
    'basic\n',
    'Bearer\t ',
  ],
  [
    '-----BEGIN ',
    '-----BEGIN RSA PRIVATE KEY-----\n',
    '-----END ',
    'Cookie: ',
    'Authorization: ',
    'set-cookie=',
  ],
  [
    'https://a:',
    'https://a@',
    'a://',
    'a.a',
    'a+',
    'a=',
    'a>',
    'ü=',
    'пароль: ',
    'password:',
    'password=',
    'password: |\n',
  ],
  [
    'password:\n  - ',
    'password: >-\n x\n',
    'password="',
    "password='\n",
    'password="""',
    "token: b'''",
    'password=\\"',
  ],
  [
    '--password ',
    '-p ',
    '-u a:',
    '--',
    'pass%77ord=',
    'pass%2577ord',
    '%70',
    '%25',
    '%3A',
    '%22',
    'password%22%3A%22',
  ],
  [
    '[',
    '{',
    '{"a":',
    '["',
    '"',
    "'",
    '"\\',
    '\\',
    '\\u0070',
    '&#112;',
    '<password>',
    '<',
    '_',
    '.',
    '-',
    ':',
    ' ',
    '\t',
  ],
  [
    '\n',
    '\r\n',
    '\n\n ',
    'a',
    '0',
    '\u0301',
    'a\u0301',
    '密码',
    '\u{1f600}',
    '\ud83d',
    '\u0000',
    "x='",
    ': "',
    'A',
    'aA',
    'May 3/1',
    '/',
    '../',
    '/..',
    '0.',
    '0-',
    '_0',
    '=',
    '\u0661',
    'file:////',
  ],
].flat()

/** Texts of this length that repeat one beginning, and others with another one before it and a letter at their end. */
export function repeatedBeginnings(length: number, seed = 41): readonly string[] {
  const random = randomNumbers(seed)
  const one = (): string => BEGINNINGS[Math.floor(random() * BEGINNINGS.length)] ?? ''
  const mixed = BEGINNINGS.map((part) => `${(one() + filled(part, length)).slice(0, length - 1)}z`)
  return [...BEGINNINGS.map((part) => filled(part, length)), ...mixed]
}
