import type { Choices } from './random-choices.ts'

/** The sorts of texts that are made, and what makes one in a random spelling. */
export const SORTS = [
  'path',
  'url',
  'uuid',
  'decimal',
  'date',
  'date-time',
  'base64',
  'text',
  'time',
] as const
export type Sort = (typeof SORTS)[number]

/** A text of a sort: as a careful author of rules writes it, and in some other spelling of the same value. */
export type Spelt = { readonly plain: string; readonly spelt: string }

const PATHS = [
  '/etc/passwd',
  '/etc',
  '/etc/x',
  '/tmp',
  '/',
  '.',
  '..',
  'src/a.py',
  '../b',
  'a',
  'src/a b',
  '/srv/é',
]
const HOSTS = [
  'evil.com',
  'good.com',
  '127.0.0.1',
  '[::1]',
  'xn--bcher-kva.example',
  'a_b.c',
  'user:pw@evil.com',
]
const SPACES = [' ', '\t', '\n', '\u00a0', '\u2003', '\u001f', '\u0085', '\ufeff']

export function spelt(sort: Sort, choices: Choices): Spelt {
  return MAKERS[sort](choices)
}

const MAKERS: Readonly<Record<Sort, (choices: Choices) => Spelt>> = {
  path: (choices) => {
    const plain = choices.oneOf(PATHS)
    return { plain, spelt: changed(plain, choices, PATH_CHANGES) }
  },
  url: (choices) => {
    const scheme = choices.oneOf(['http', 'https', 'ftp', 'foo', 'ws', 'file'])
    const host = scheme === 'file' ? '' : choices.oneOf(HOSTS)
    const rest = choices.oneOf(['/', '/a', '/a/b?q=1', '/A#f', '/?a=b&c', '/%41'])
    const plain = choices.chance(0.1)
      ? choices.oneOf(['mailto:A@b.c', 'foo:BAR', 'data:,x'])
      : `${scheme}://${host}${rest}`
    return { plain, spelt: changed(plain, choices, URL_CHANGES) }
  },
  uuid: (choices) => {
    const digits = choices.some(32, 32, () => choices.below(16).toString(16)).join('')
    const plain = digits
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-4$3-8$4-')
      .replace(/-4.(...)-8.(...)/, '-4$1-8$2')
    return { plain, spelt: changed(plain, choices, UUID_CHANGES) }
  },
  decimal: (choices) => {
    const plain = choices.oneOf([
      '1000',
      '0',
      '-1',
      '12.5',
      '0.001',
      '-0.5',
      '100',
      '99999999999999999999999',
      '1',
    ])
    return { plain, spelt: changed(plain, choices, DECIMAL_CHANGES) }
  },
  date: (choices) => {
    const plain = choices.oneOf([
      '2026-01-02',
      '1970-01-01',
      '1969-12-31',
      '0001-01-01',
      '2400-02-29',
      '9999-12-31',
    ])
    const seconds = Date.parse(`${plain}T00:00:00Z`) / 1_000
    const counts = [`${seconds}`, `${seconds * 1_000}`, `+${seconds}`, `0${seconds}`, `${seconds}.0`]
    return {
      plain,
      spelt: choices.chance(0.5) ? plain : choices.oneOf([...counts, `${plain}T00:00:00Z`, ` ${plain}`]),
    }
  },
  'date-time': (choices) => {
    const plain = choices.oneOf([
      '2026-01-02T03:04:05Z',
      '2026-01-02T00:00:00.5Z',
      '1970-01-01T00:00:00Z',
      '2026-01-02T03:04:05',
    ])
    return { plain, spelt: dateTime(plain, choices) }
  },
  base64: (choices) => {
    const bytes = Buffer.from(choices.some(0, 6, () => choices.below(256)))
    const plain = bytes.toString('base64')
    return {
      plain,
      spelt: choices.oneOf([plain, bytes.toString('base64url'), plain.replace('=', ''), `${plain}=`]),
    }
  },
  text: (choices) => {
    const plain = choices.oneOf(['secret', 'SECRET', 'a', 'B', 'rm -rf /', 'straße', 'ΑΣ', '', 'a/b', '1'])
    return { plain, spelt: changed(plain, choices, TEXT_CHANGES) }
  },
  time: (choices) => {
    const plain = choices.oneOf(['03:04:05', 'PT1H', '1/2', '127.0.0.1', '1+2j', '1KB', '{"a":1}'])
    return { plain, spelt: choices.oneOf([plain, '03:04', 'PT3600S', '2/4', '::1', '1024', ' 03:04:05']) }
  },
}

type Change = (text: string, choices: Choices) => string

/** The text after a few changes. */
function changed(text: string, choices: Choices, changes: readonly Change[]): string {
  let found = text
  for (const change of choices.some(0, 3, () => choices.oneOf(changes))) found = change(found, choices)
  return found
}

/** Puts a text at one of the places where the pattern ends. */
function put(pattern: RegExp, texts: readonly string[]): Change {
  return (text, choices) => {
    const places = Array.from(text.matchAll(pattern), ({ index, 0: found }) => index + found.length)
    if (places.length === 0) return text
    const at = choices.oneOf(places)
    return text.slice(0, at) + choices.oneOf(texts) + text.slice(at)
  }
}

const around: Change = (text, choices) =>
  choices.chance(0.5) ? `${choices.oneOf(SPACES)}${text}` : `${text}${choices.oneOf(SPACES)}`
const upper: Change = (text) => text.toUpperCase()

const PATH_CHANGES: readonly Change[] = [
  put(/\//g, ['/', './', '../', 'a/../', '//', '\\', '..\\', 'x\n/../']),
  put(/^/g, ['./', '/', '../', 'a/../', ' ', '//']),
  put(/$/g, ['/', '/.', '/..', '/a/..', '//', ' ', '\\']),
]

const URL_CHANGES: readonly Change[] = [
  upper,
  (text) => text.replace('://', ':/'),
  (text) => text.replace('://', choicesOfSlashes(text)),
  (text) => text.replace(/\/$/, ''),
  (text) => text.replace('evil', choicesOfLetters(text)),
  (text) => text.replace('127.0.0.1', '0x7f.1'),
  (text) => text.replace('.com', '.com:80'),
  put(/(?<=\w)\//g, ['../', './', '%2e%2e/', 'a/../', '|^`', 'é', '\t', '\\']),
  put(/^\w/g, ['\n', '\t']),
  around,
]

function choicesOfSlashes(text: string): string {
  return text.length % 2 === 0 ? ':\\\\' : ':///'
}

function choicesOfLetters(text: string): string {
  return ['ⅇvil', 'EVIL', 'ev\u00adil', 'e\uff56il'][text.length % 4] ?? ''
}

const UUID_CHANGES: readonly Change[] = [
  upper,
  (text) => text.replaceAll('-', ''),
  (text) => `{${text}}`,
  (text) => `urn:uuid:${text}`,
  (text) => text.replace('-', ''),
  around,
]

const DECIMAL_CHANGES: readonly Change[] = [
  (text) => text.replace(/000$/, 'e3'),
  (text) => (text.includes('.') ? `${text}00` : `${text}.0`),
  (text) => (/e/i.test(text) ? text : `${text}0e-1`),
  (text) => `+${text}`,
  (text) => text.replace(/^(-?)/, '$1000'),
  (text) => text.replace(/\d/, (digit) => String.fromCodePoint(0x660 + Number(digit))),
  (text) => text.replace(/\d/, (digit) => String.fromCodePoint(0x1d7d8 + Number(digit))),
  put(/\d/g, ['_', '__', ' ', '\0']),
  upper,
  around,
]

const TEXT_CHANGES: readonly Change[] = [
  upper,
  (text) => text.toLowerCase(),
  around,
  put(/\w/g, ['\u0130', 'ß', ' ']),
]

function dateTime(plain: string, choices: Choices): string {
  const isAware = plain.endsWith('Z')
  const time = Date.parse(isAware ? plain : `${plain}Z`)
  if (isAware && choices.chance(0.3))
    return choices.oneOf([`${time / 1_000}`, `${time}`, `${time / 1_000}.0`, `+${time / 1_000}`, `${time}.5`])
  const minutes = isAware ? choices.oneOf([0, 60, -90, 1_439]) : 0
  const moved = new Date(time + minutes * 60_000).toISOString().slice(0, -1)
  const zone = `${minutes < 0 ? choices.oneOf(['-', '\u2212']) : '+'}${clock(Math.abs(minutes), choices.oneOf([':', '']))}`
  const zones = minutes === 0 ? ['Z', 'z', '+00:00', '-00:00', '-0000'] : [zone]
  const fraction = choices.oneOf([
    moved,
    moved.replace(/\.?0+$/, ''),
    `${moved}000000`,
    moved.replace('.', ','),
  ])
  return fraction.replace('T', choices.oneOf(['T', 't', ' ', '_'])) + (isAware ? choices.oneOf(zones) : '')
}

function clock(minutes: number, between: string): string {
  const parts = [Math.floor(minutes / 60), minutes % 60]
  return parts.map((part) => String(part).padStart(2, '0')).join(between)
}
