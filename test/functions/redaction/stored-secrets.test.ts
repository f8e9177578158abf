import { expect, test } from '@jest/globals'
import { atOnce, Turns } from '../../../functions/src/loop-turn.ts'
import { everySpelling } from '../../../functions/src/redaction/spellings.ts'
import { StoredSecrets } from '../../../functions/src/redaction/stored-secrets.ts'
import { randomNumbers } from '../../support/random-numbers.ts'

const KEY = 'sk/Zx+9 "q\\ö\'\n7~*(w)'
const PLAIN = 'plainkey-0123456789'

const without = (values: readonly string[], text: string) => atOnce(new StoredSecrets(values).without(text))
const withoutInJson = (values: readonly string[], text: string) =>
  atOnce(new StoredSecrets(values).withoutInJson(text))

const json = (text: string): string => JSON.stringify(text).slice(1, -1)
const ascii = (text: string): string =>
  text.replaceAll(/[^ -~]/g, (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
const python = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
const lower = (text: string): string => text.replaceAll(/%[\dA-F]{2}/g, (byte) => byte.toLowerCase())

test.each<[string, (text: string) => string]>([
  ['as it is', (text) => text],
  ['as JSON', json],
  ['as JSON in ASCII', (text) => ascii(json(text))],
  ['as JSON in JSON', (text) => json(json(text))],
  ['as JSON in ASCII in JSON', (text) => json(ascii(json(text)))],
  ['as JSON in JSON in ASCII', (text) => ascii(json(json(text)))],
  ['as JSON in JSON in JSON', (text) => json(json(json(text)))],
  ['as JSON in ASCII in JSON in JSON', (text) => json(json(ascii(json(text))))],
  ['percent-encoded by JavaScript', encodeURIComponent],
  ['as an address by JavaScript', encodeURI],
  ['percent-encoded by Python', (text) => python(text).replaceAll('%2F', '/')],
  ['percent-encoded by Python, also slashes', python],
  ['percent-encoded with small letters', (text) => lower(python(text))],
  ['percent-encoded with + for a blank', (text) => python(text).replaceAll('%20', '+')],
  ['as a field of a form', (text) => new URLSearchParams({ a: text }).toString().slice(2)],
  ['in hexadecimal', (text) => Buffer.from(text).toString('hex')],
  [
    'in hexadecimal with colons',
    (text) =>
      Buffer.from(text)
        .toString('hex')
        .replaceAll(/..(?=.)/g, '$&:'),
  ],
  [
    'with each byte after a percent sign',
    (text) => Buffer.from(text).toString('hex').replaceAll(/../g, '%$&'),
  ],
  ['in hexadecimal with capitals', (text) => Buffer.from(text).toString('hex').toUpperCase()],
  ['in base64', (text) => Buffer.from(text).toString('base64')],
  ['in base64 without padding', (text) => Buffer.from(text).toString('base64').replace(/=+$/, '')],
  ['in base64 of addresses', (text) => Buffer.from(text).toString('base64url')],
])('a stored secret is removed %s', (_what, spell) => {
  for (const secret of [KEY, PLAIN])
    expect(without([secret], `before <${spell(secret)}> after`)).toBe('before <[redacted]> after')
})

const IN_PYTHON: readonly (readonly [secret: string, spelled: readonly string[]])[] = [
  [
    'tab\tesc\u001b del\u007f nul\0 bell\u0007\b\f',
    [String.raw`tab\tesc\x1b del\x7f nul\x00 bell\x07\x08\x0c`],
  ],
  [
    'nbsp\u00a0soft\u00ad line\u2028 zero\u200b',
    [
      String.raw`nbsp\xa0soft\xad line\u2028 zero\u200b`,
      String.raw`nbsp\xc2\xa0soft\xc2\xad line\xe2\x80\xa8 zero\xe2\x80\x8b`,
    ],
  ],
  [
    'grün Ω€ 😀 \u{e0001}',
    [
      String.raw`grün Ω€ 😀 \U000e0001`,
      String.raw`gr\xfcn \u03a9\u20ac \U0001f600 \U000e0001`,
      String.raw`gr\xc3\xbcn \xce\xa9\xe2\x82\xac \xf0\x9f\x98\x80 \xf3\xa0\x80\x81`,
    ],
  ],
  ["it's \\ grün", [String.raw`it's \\ grün`, String.raw`it's \\ gr\xfcn`, String.raw`it's \\ gr\xc3\xbcn`]],
  ['"both\' of \u001b quotes', [String.raw`"both\' of \x1b quotes`]],
]

test.each(IN_PYTHON)(
  "%j is removed as Python's repr, ascii and repr of the bytes show it, also inside of JSON",
  (secret, spelled) => {
    for (const text of spelled)
      for (const [shown, spell] of [
        [text, without],
        [JSON.stringify({ text: `so ${text}` }), withoutInJson],
        [JSON.stringify(JSON.stringify([text])), withoutInJson],
      ] as const) {
        const left = spell([secret], shown)
        expect(left).toContain('[redacted]')
        expect(left.replace('[redacted]', '')).toMatch(/^[\\[\]"{}:a-z ]*$/)
        expect(left.length).toBeLessThan(40)
      }
  },
)

test("Python's spellings are searched only where they differ, so there are few of printable ASCII", () => {
  expect(everySpelling(PLAIN).length).toBeLessThan(20)
  expect(everySpelling('grün-\u001b\u2028-0123456789').length).toBeLessThan(50)
})

test('a stored secret is removed from a longer text in base64, wherever it begins', () => {
  for (const before of ['', 'a', 'ab', 'abc', 'user:'])
    for (const after of ['', 'x', 'xy', 'xyz'])
      for (const kind of ['base64', 'base64url'] as const) {
        const shown = without([PLAIN], Buffer.from(before + PLAIN + after).toString(kind))
        expect(shown).toContain('[redacted]')
        expect(Buffer.from(shown.replace('[redacted]', ''), 'base64').toString()).not.toContain('plain')
      }
})

test('JSON stays JSON, whatever is removed from it', () => {
  const values = ['1234567890', 'nabcdefgh', 'abcdefg\\', '","b":"xx', PLAIN]
  const rows: readonly (readonly [unknown, unknown])[] = [
    [
      { a: 1_234_567_890, b: [-1_234_567_890, 12] },
      { a: '[redacted]', b: ['[redacted]', 12] },
    ],
    ['\nabcdefgh', '[redacted]'],
    [{ said: 'abcdefg"' }, { said: '[redacted]' }],
    [{ a: '', b: 'xx' }, '[redacted]'],
    [{ [PLAIN]: [`so ${PLAIN}`, null, true] }, { '[redacted]': ['so [redacted]', null, true] }],
    [{ nothing: [1, 'two', { three: 3.5e10 }] }, { nothing: [1, 'two', { three: 3.5e10 }] }],
  ]
  for (const [value, shown] of rows)
    expect(JSON.parse(withoutInJson(values, JSON.stringify(value)))).toEqual(shown)
})

test('an object of arguments is the same object if it has none', () => {
  const stored = new StoredSecrets([PLAIN])
  const args = { a: ['nothing'] }
  expect(stored.withoutInObject(args)).toBe(args)
  expect(stored.withoutInObject({ a: { b: `x ${PLAIN}` } })).toEqual({ a: { b: 'x [redacted]' } })
  const whole = new StoredSecrets(['"first":1,"second":2'])
  expect(whole.withoutInObject({ first: 1, second: 2 })).toEqual({ '[redacted]': '[redacted]' })
})

test('a text in parts shows no secret, wherever it is cut, and nothing else is missing', () => {
  const random = randomNumbers(11)
  const text = `a ${KEY} b ${encodeURIComponent(KEY)} plainke ${PLAIN}${PLAIN} c plainkey-`
  for (let round = 0; round < 200; round += 1) {
    const filter = new StoredSecrets([KEY, PLAIN]).open()
    let shown = ''
    for (let from = 0; from < text.length;) {
      const length = 1 + Math.floor(random() * 9)
      shown += filter.take(text.slice(from, from + length))
      from += length
    }
    expect(shown + filter.end()).toBe('a [redacted] b [redacted] plainke [redacted][redacted] c plainkey-')
  }
})

test('parts that are shown at once never show a whole secret together', () => {
  for (let cut = 1; cut < PLAIN.length; cut += 1) {
    const filter = new StoredSecrets([PLAIN]).open()
    const [one, two] = [
      filter.takeWhole(`so ${PLAIN.slice(0, cut)}`),
      filter.takeWhole(`${PLAIN.slice(cut)} end`),
    ]
    expect(one + two).not.toContain(PLAIN)
    expect(two).toBe('[redacted] end')
    expect(one).toBe(cut < 4 ? `so ${PLAIN.slice(0, cut)}` : 'so [redacted]')
  }
  const letters = new StoredSecrets([PLAIN]).open()
  expect(Array.from(PLAIN, (letter) => letters.takeWhole(letter)).join('')).toMatch(/^pla(?:\[redacted\])+$/)
})

test('of a text that was cut off, the beginning of a secret at its end is removed', () => {
  const stored = new StoredSecrets([PLAIN])
  expect(atOnce(stored.without(`so ${PLAIN.slice(0, 9)}`, true))).toBe('so [redacted]')
  expect(atOnce(stored.without(`so ${PLAIN.slice(0, 9)}`))).toBe(`so ${PLAIN.slice(0, 9)}`)
})

test('a long secret is removed too, and is prepared only for a text in which it has room', async () => {
  const long = Array.from({ length: 8_000 }, (_, at) => `k${at}`).join(' ')
  const stored = new StoredSecrets([long])
  expect(atOnce(stored.prepare(1_000))).toBeUndefined()
  const turns = new Turns()
  expect(await turns.run(stored.withoutInJson(JSON.stringify({ a: `x${long}y` })))).toBe(
    '{"a":"x[redacted]y"}',
  )
  // For its rare spellings, there is no room.
  for (const spell of [json, (text: string) => Buffer.from(text).toString('base64'), encodeURIComponent])
    expect((await turns.run(stored.without(spell(long)))).length).toBeLessThan(20)
})

test('of a secret with 7 kB, every spelling is searched', async () => {
  const long = Array.from({ length: 1_400 }, (_, at) => `k${at * 7}`).join(' ')
  const stored = new StoredSecrets([long])
  const turns = new Turns()
  for (const spelled of everySpelling(long))
    expect((await turns.run(stored.without(spelled))).length).toBeLessThan(20)
})

test('the spellings of the longest secrets are bounded, and so is a search for them', () => {
  for (const secrets of [
    ['"\\'.repeat(32_000)],
    Array.from({ length: 20 }, (_, at) => `"\\${at}`.repeat(800)),
  ]) {
    const needles = atOnce(new StoredSecrets(secrets).prepare())
    const lengths = Array.from({ length: needles?.count ?? 0 }, (_, at) => needles?.lengthOf(at) ?? 0)
    expect(lengths.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(600_000)
    for (const secret of secrets) {
      expect(without(secrets, `x ${secret}`)).toBe('x [redacted]')
      expect(withoutInJson(secrets, JSON.stringify([secret]))).toBe('["[redacted]"]')
    }
  }
})

const BODY = Buffer.from(Array.from({ length: 1_200 }, (_, at) => (at * at * 31 + at * 7) % 251)).toString(
  'base64',
)
const PEM = `-----BEGIN KEY-----\n${BODY.replaceAll(/.{64}/g, '$&\n')}\n-----END KEY-----\n`

/** The parts of 12 characters of the secret that the text shows. */
function parts(text: string, secret: string): readonly string[] {
  const all = Array.from({ length: Math.floor(secret.length / 12) }, (_, at) =>
    secret.slice(at * 12, at * 12 + 12),
  )
  return all.filter((part) => text.includes(part))
}

test.each<[string, (text: string) => string]>([
  ['indented', (text) => text.replaceAll(/^/gm, '    ')],
  ['indented in JSON', (text) => JSON.stringify(text.replaceAll(/^/gm, '    '))],
  ['with ends of lines of Windows', (text) => text.replaceAll('\n', '\r\n')],
  ['as a list of lines', (text) => JSON.stringify(text.split('\n'))],
  ['without ends of lines', (text) => text.replaceAll('\n', ' ')],
])('of a secret of several lines, each long line is removed: %s', (_what, change) => {
  const shown = without([PEM], change(PEM))
  expect(shown).toContain('[redacted]')
  expect(parts(shown, BODY)).toEqual([])
})

test.each([100, 900])(
  'parts of %d characters that are shown at once show nothing of a long secret',
  (length) => {
    const spellings = [PEM, json(PEM), Buffer.from(PEM).toString('hex'), Buffer.from(PEM).toString('base64')]
    for (const spelled of [...spellings, `-----${PLAIN.repeat(90)}-----`]) {
      const filter = new StoredSecrets([PEM, `-----${PLAIN.repeat(90)}-----`]).open()
      const text = `so ${spelled}${spelled} it is`
      let shown = ''
      for (let from = 0; from < text.length; from += length)
        shown += filter.takeWhole(text.slice(from, from + length))
      expect(parts(shown, spelled)).toEqual([])
      expect(shown).toMatch(/^so (?:\[redacted\])+ it is$/)
    }
  },
)

/** A text as the runner shortens it. */
const cut = (text: string) =>
  `${text.slice(0, 500)}\n… ${text.length - 1_000} characters left out …\n${text.slice(-500)}`

test('where a runner has shortened an error, neither the beginning nor the end of a secret is shown', () => {
  const long = Buffer.from(PEM).toString('base64')
  const stored = new StoredSecrets([PEM, PLAIN])
  const shown = (error: string) => atOnce(stored.withoutInError(error))
  expect(shown(`ValueError: ${cut(`so ${long}, it is`)} end`)).toMatch(
    /^ValueError: so \[redacted\]\n… [\d,]+ characters left out …\n\[redacted\], it is end$/,
  )
  expect(shown(`has '${PLAIN.slice(0, 9)}…' as a key`)).toBe("has '[redacted]…' as a key")
  expect(shown(`${PLAIN} and … then, ${PLAIN.slice(0, 9)}`)).toBe(
    `[redacted] and … then, ${PLAIN.slice(0, 9)}`,
  )
})

test('a value is searched without the blanks at its ends only if enough is left', () => {
  expect(without(['       1'], 'only 1')).toBe('only 1')
  expect(without([` ${PLAIN}\n`], `so ${PLAIN}!`)).toBe('so [redacted]!')
})

test.each([
  ['beginnings of the secret', `${PLAIN.slice(0, -1)}_`.repeat(10_000)],
  ['a secret of one letter, and that letter', 'a'.repeat(200_000)],
  ['hexadecimal digits', Buffer.from(PLAIN.slice(0, -1)).toString('hex').repeat(5_000)],
])('200 kB of near misses give other requests turns: %s', async (_what, text) => {
  const stored = new StoredSecrets([PLAIN, 'a'.repeat(30)])
  const pieces = stored.withoutInJson(JSON.stringify([text]))
  let turns = 0
  for (let piece = pieces.next(); !piece.done; piece = pieces.next()) turns += 1
  expect(turns).toBeGreaterThan(text.length / 32_768)
  const needles = atOnce(stored.prepare())
  const before = needles?.steps ?? 0
  atOnce(stored.without(text))
  // Aho-Corasick makes at most two steps for each code unit.
  expect((needles?.steps ?? 0) - before).toBeLessThanOrEqual(2 * text.length)
})

test('a text is searched once, however many secrets of whatever lengths there are', () => {
  const random = randomNumbers(5)
  const secrets = Array.from({ length: 300 }, (_, at) => `${random()}`.repeat(1 + (at % 40)))
  const stored = new StoredSecrets(secrets)
  const needles = atOnce(stored.prepare())
  const before = needles?.steps ?? 0
  const text = secrets.join(' ').slice(0, 50_000)
  const filter = stored.open()
  for (let from = 0; from < text.length; from += 100) filter.take(text.slice(from, from + 100))
  const steps = (needles?.steps ?? 0) - before
  expect([steps > 0, steps <= 2 * text.length]).toEqual([true, true])
})

test('a long secret is removed whole, also if it contains a short one', () => {
  const long = `{"id":"${PLAIN}","more":"${'0123456789'.repeat(500)}"}`
  for (const secrets of [
    [long, PLAIN],
    [PLAIN, long],
  ]) {
    expect(without(secrets, `so ${PLAIN} and ${long}.`)).toBe('so [redacted] and [redacted].')
    const filter = new StoredSecrets(secrets).open()
    expect(filter.take(`so ${long}.`) + filter.end()).toBe('so [redacted].')
  }
})

test.each<[string, (text: string) => Buffer]>([
  ['UTF-8', (text) => Buffer.from(text)],
  ['Latin-1', (text) => Buffer.from(text, 'latin1')],
  ['UTF-16, little end first', (text) => Buffer.from(text, 'utf16le')],
  ['UTF-16, big end first', (text) => Buffer.from(text, 'utf16le').swap16()],
])('a secret is found in bytes in %s, at every place', (_encoding, encode) => {
  for (const secret of [KEY, PLAIN])
    for (const before of [
      [],
      [0xff],
      [0xc3, 0xc3],
      [0xd8, 0x00, 0xd8],
      Array.from({ length: 32_763 }, () => 0xe2),
    ]) {
      const bytes = Buffer.concat([Buffer.from(before), encode(secret), Buffer.from([0xff, 0x00, 0xdc])])
      expect([before.length, atOnce(new StoredSecrets([secret]).isInBytes(bytes))]).toEqual([
        before.length,
        true,
      ])
      const other = Buffer.concat([Buffer.from(before), encode(secret.slice(1)), Buffer.from([0xff])])
      expect(atOnce(new StoredSecrets([secret]).isInBytes(other))).toBe(false)
    }
})

test('a secret is found in a short text in letters of any case, and of a longer text also 8 characters of one', () => {
  const stored = new StoredSecrets(['Folder/Of-Ann', 'abc'])
  const [inAnyCase, partly] = [
    (text: string) => atOnce(stored.isInAnyCase(text)),
    (text: string) => atOnce(stored.isPartlyIn(text)),
  ]
  expect(['x/folder/of-ann+y', 'x/Abc', 'folder', 'of-ann'].map(inAnyCase)).toEqual([
    true,
    true,
    false,
    false,
  ])
  expect(['ABC.txt', 'xder/of-any', 'Folder%2FOf-Ann', 'of-ann.csv', '', 'x'].map(partly)).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ])
  expect(atOnce(StoredSecrets.unknown().isPartlyIn('a.txt'))).toBe(true)
})

test('bytes in which secrets are searched give other requests turns, and no bytes are clean of unknown secrets', () => {
  const pieces = new StoredSecrets([PLAIN]).isInBytes(Buffer.alloc(1024 * 1024))
  let count = 0
  while (!pieces.next().done) count += 1
  expect(count).toBeGreaterThan(64)
  const unknown = ['', 'x'].map((text) => atOnce(StoredSecrets.unknown().isInBytes(Buffer.from(text))))
  expect(unknown).toEqual([false, true])
})

test('the preparation of the longest secrets gives other requests turns', () => {
  const stored = new StoredSecrets([`${'"ö'.repeat(16_000)}end`])
  const pieces = stored.prepare()
  let count = 0
  while (!pieces.next().done) count += 1
  expect(count).toBeGreaterThan(30)
})
