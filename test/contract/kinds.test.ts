import { expect, test } from '@jest/globals'
import {
  ARGUMENT_KINDS,
  canonicalArguments,
  matchesGlob,
  readText,
  ToolReadings,
  type ArgumentKind,
  type Reading,
  type ReadTool,
} from '@toolrack/contract'
import fc from 'fast-check'
import { normalGlob } from '../../packages/contract/src/rules/argument-globs.ts'
import { shapeOf } from '../../packages/contract/src/rules/canonical-shape.ts'
import { TEXT_EDITS, type TextEdit } from '../../packages/contract/src/kinds/text-edit.ts'
import { choicesFrom } from '../support/kinds/random-choices.ts'
import { SORTS, spelt } from '../support/kinds/spellings.ts'
import { vectors } from '../support/vectors.ts'

type Read = ReturnType<typeof readText>

test.each(vectors<{ kind: ArgumentKind; text: string }, Read>('kinds'))('$title', ({ input, expected }) => {
  expect(readText({ kind: input.kind }, input.text)).toEqual(expected)
})

test.each(vectors<{ edit: TextEdit; text: string }, Read>('kinds', 'edits'))(
  '$title',
  ({ input, expected }) => {
    expect(readText({ kind: 'text', edit: input.edit }, input.text)).toEqual(expected)
  },
)

type Asked = { readonly name: string; readonly tool: ReadTool }

const shown = ({ kind, edit }: Reading): string => (edit === undefined ? kind : `${kind}:${edit}`)

test.each(vectors<Asked, readonly string[]>('readings'))('$title', ({ input: { name, tool }, expected }) => {
  expect(new ToolReadings(tool).of(name).map(shown).toSorted()).toEqual(expected.toSorted())
  expect(new ToolReadings(tool).whole().of(name).map(shown).toSorted()).toEqual(expected.toSorted())
})

test.each(vectors<{ type: string }, readonly string[]>('argument-types'))(
  'what the runner reports of an argument is understood: $title',
  ({ expected }) => {
    const runner = { kind: 'python', kinds: { a: expected } } as const
    const parameters = { properties: { a: { type: 'string' } } }
    const read = new ToolReadings({ classes: [], parameters, runner }).of('a').map(shown)
    expect(read.filter((one) => one !== 'text')).toEqual(expected.filter((one) => one !== 'text'))
  },
)

test.each([
  ['path', 'src/./a', 'src/a'],
  ['path', 's3://bucket//key/', 's3://bucket//key/'],
  ['xpath', '//div/', '//div/'],
  ['src', 'dir/', 'dir'],
  ['url_path', '/users/', '/users/'],
  ['where', 's3://bucket//key/', 's3:/bucket/key'],
])('an argument %s with the text %s is sent as %s', (name, text, sent) => {
  const properties = {
    path: { type: 'string' },
    url_path: { type: 'string', format: 'uri-reference' },
    where: { type: 'string', format: 'path' },
  }
  const readings = new ToolReadings({ classes: [], parameters: { properties } })
  expect(canonicalArguments(readings, { [name]: text })).toEqual({ args: { [name]: sent }, unread: [] })
})

/** The processor time of some work, in milliseconds. */
function processorMs(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

test('a host is bounded before it is read: engines read a long one in quadratic time', () => {
  const host = String.fromCodePoint(
    ...Array.from({ length: 5_000 }, (_, at) => 0x4e00 + ((at * 7_919) % 20_000)),
  )
  const readings = new ToolReadings({ classes: [], parameters: { additionalProperties: { format: 'uri' } } })
  const args = Object.fromEntries(Array.from({ length: 64 }, (_, at) => [`url${at}`, `http://${host}`]))
  // Without the bound it is several seconds.
  expect(processorMs(() => canonicalArguments(readings, args))).toBeLessThan(1_000)
})

test('a digit of another script is looked up once', () => {
  const text = '\u{1d7ff}'.repeat(2_000)
  // If the row of each digit is looked for again, it is several seconds.
  const work = (): unknown => Array.from({ length: 500 }, () => readText({ kind: 'decimal' }, text))
  expect(processorMs(work)).toBeLessThan(1_000)
})

test('a schema is read in bounded time, however many arguments and references its root has', () => {
  let reads = 0
  const shared = Object.defineProperty({}, 'format', { enumerable: true, get: () => void (reads += 1) })
  const $defs = Object.defineProperty({}, 'long', {
    enumerable: true,
    get() {
      reads += 1
      return { type: 'string' }
    },
  })
  const properties = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`a${at}`, shared]))
  const allOf = Array.from({ length: 500 }, () => ({ $ref: '#/$defs/long' }))
  const readings = new ToolReadings({ classes: [], parameters: { properties, $defs, allOf } }).whole()
  expect(reads).toBeLessThan(50_000)
  // What is left is not known, and no allow matches it.
  expect(readings.of('a0').map(shown)).toEqual(['text'])
  expect(readings.of('a499').map(shown)).toEqual(['value', 'text'])
})

const READINGS: readonly Reading[] = [
  ...ARGUMENT_KINDS.map((kind) => ({ kind })),
  ...TEXT_EDITS.map((edit) => ({ kind: 'text' as const, edit })),
  { kind: 'path', edit: 'strip' },
]

/** Canonical texts of a reading, from random spellings of all sorts. */
function canonicalTexts(reading: Reading, count: number): readonly string[] {
  const choices = choicesFrom(count)
  const found = new Set<string>()
  for (let turn = 0; turn < count; turn += 1) {
    const read = readText(reading, spelt(choices.oneOf(SORTS), choices).spelt)
    if (typeof read !== 'string') found.add(read.text)
  }
  // A path that is cut off may begin with white space again.
  return [...found].filter((text) => {
    const again = readText(reading, text)
    return typeof again !== 'string' && again.text === text
  })
}

test.each(READINGS)('a canonical text stays as it is if it is read again: %j', (reading) => {
  const choices = choicesFrom(1)
  const schema = reading.edit === undefined ? reading.kind : `text:${reading.edit}`
  const name = reading.kind === 'path' ? 'path' : 'a'
  const runner = { kind: 'python', kinds: { [name]: [schema] } } as const
  const readings = new ToolReadings({ classes: [], parameters: {}, runner })
  for (let turn = 0; turn < 2_000; turn += 1) {
    const sent = { [name]: spelt(choices.oneOf(SORTS), choices).spelt }
    const { args, unread } = canonicalArguments(readings, sent)
    const again = canonicalArguments(readings, args)
    expect(again.args).toBe(args)
    expect(again.unread).toEqual(unread)
  }
})

test.each(READINGS)('the shape of a kind takes each of its canonical texts: %j', (reading) => {
  const shape = shapeOf(reading)
  const texts = canonicalTexts(reading, 3_000)
  expect(texts.length).toBeGreaterThan(3)
  const refused = texts.filter((text) => {
    let state: number | undefined = shape.start
    for (const character of text) if (state !== undefined) state = shape.after(state, character)
    return state === undefined || !shape.isWhole(state)
  })
  expect(refused).toEqual([])
})

test.each(READINGS)(
  'the normal form of a glob matches each canonical text that the glob matches: %j',
  (reading) => {
    const texts = canonicalTexts(reading, 300)
    const kind = reading.kind === 'path' ? 'path' : 'text'
    const choices = choicesFrom(2)
    const lost: string[] = []
    const seen = { matched: 0, changed: 0 }
    for (let turn = 0; turn < 3_000; turn += 1) {
      const glob = randomGlob(choices.oneOf(texts), choices)
      const normal = normalGlob(glob, reading)
      if (normal !== glob) seen.changed += 1
      for (const text of texts) {
        if (!matchesGlob(glob, text, kind)) continue
        seen.matched += 1
        if (!matchesGlob(normal, text, kind)) lost.push(`${glob} → ${normal}: ${text}`)
      }
    }
    expect(lost.slice(0, 5)).toEqual([])
    expect(seen.matched).toBeGreaterThan(100)
  },
)

/** A glob that is like a text, with wildcards and needless parts in it. */
function randomGlob(text: string, { oneOf, some, below }: ReturnType<typeof choicesFrom>): string {
  let glob = text
  for (const part of some(1, 3, () =>
    oneOf(['*', '**', '?', '/', './', '../', '/**', '**/', 'a/../', 'A', '.', '']),
  )) {
    const at = below(glob.length + 1)
    glob = glob.slice(0, at) + part + glob.slice(at + below(3))
  }
  return glob
}

test.each([
  ['/etc//**', '/etc/**'],
  ['/etc/./*', '/etc/*'],
  ['/a/../etc/**', '/etc/**'],
  ['//etc/**', '/etc/**'],
  ['/etc/', '/etc'],
  ['./src/*.py', 'src/*.py'],
  ['/../etc', '/etc'],
  ['*/../b', '*/../b'],
  ['src/*/', 'src/*/'],
  ['./**', './**'],
  ['a/../**', 'a/../**'],
  ['**/./b', '**/b'],
])('the path glob %s has the normal form %s', (glob, normal) => {
  expect(normalGlob(glob, { kind: 'path' })).toBe(normal)
})

test.each([
  ['HTTP://EVIL.com', 'http://evil.com/'],
  ['HTTP://EVIL.com:80/*', 'http://evil.com/*'],
  ['http://*.EVIL.com/A*', 'http://*.evil.com/A*'],
  ['*://EVIL.com/*', '*://EVIL.com/*'],
  ['http://EVIL.com*', 'http://evil.com*'],
  ['HTTP://e?il.com/A?', 'http://e?il.com/A?'],
  ['foo://HOST/*', 'foo://HOST/*'],
  ['*EVIL*', '*EVIL*'],
  ['http://a.b/c?d=1', 'http://a.b/c?d=1'],
])('the URL glob %s has the normal form %s', (glob, normal) => {
  expect(normalGlob(glob, { kind: 'url' })).toBe(normal)
})

test('a text of a kind that is very long takes no time that grows faster than it', () => {
  for (const kind of ARGUMENT_KINDS)
    for (const unit of ['0', ' ', '_', '/', '../', 'a', '%2e', '\t', '1e', '-', '٠', '.', '0.'])
      for (const end of ['', 'x']) {
        const text = unit.repeat(100_000) + end
        for (const edit of [undefined, ...TEXT_EDITS])
          readText(edit === undefined ? { kind } : { kind: 'text', edit }, text)
      }
  fc.assert(fc.property(fc.string(), (text) => typeof readText({ kind: 'path' }, text) === 'object'))
})
