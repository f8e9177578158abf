import { describe, expect, test } from '@jest/globals'
import { dialectRules, DIALECTS, type JsonObject, type ToolDefinition } from '@toolrack/contract'
import fc from 'fast-check'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { atOnce, Turns } from '../../../../functions/src/loop-turn.ts'
import { billText, countedAnswer } from '../../../../functions/src/catalog/views/counted-answer.ts'
import { DialectFragments } from '../../../../functions/src/catalog/views/dialect-fragments.ts'
import { dialectAnswer, listAnswer } from '../../../../functions/src/catalog/views/list-answer.ts'
import { ENVELOPES } from '../../../../functions/src/catalog/views/list-query.ts'
import type { ListQuery } from '../../../../functions/src/catalog/views/list-query.ts'
import { LevelFragments } from '../../../../functions/src/catalog/views/level-fragments.ts'
import { tokenCounter } from '../../../../functions/src/catalog/tokens/token-counter.ts'
import { NO_RANK } from '../../../../functions/src/catalog/views/usage-rank.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { ALL } from '../../../support/list-query.ts'

const count = await tokenCounter()
const encoded = (body: Buffer): number =>
  encode(body.toString(), { allowedSpecial: new Set(), disallowedSpecial: new Set() }).length

const WORKFLOWS = { defaultWorkflow: 'tools-CliTools', invokeWorkflow: 'call "it" 🛠' }
const SHAPES = [undefined, ...DIALECTS]
  .flatMap((dialect) => ENVELOPES.map((envelope) => ({ dialect, envelope })))
  .filter(({ dialect, envelope }) => envelope === 'array' || !dialect || dialectRules(dialect).allowsItems)

function answerTo(
  tools: readonly ToolDefinition[],
  query: Partial<ListQuery>,
  { pinned = [] as readonly string[], rank = NO_RANK, counter = count } = {},
) {
  const asked = { ...ALL, ...query, countsTokens: true }
  const dialect = asked.dialect && dialectRules(asked.dialect)
  const levelFragments = new LevelFragments(new DialectFragments())
  const counting = { levelFragments, count: counter, pinned: new Set(pinned), rank }
  return new Turns().run(countedAnswer(catalogView({ user: tools }), asked, dialect, WORKFLOWS, counting))
}

function toolOf(name: string, description: string, parameters: JsonObject): ToolDefinition {
  return { type: 'function', function: { name, description, parameters } }
}

/** Texts that could join with what stands beside them: line ends, blanks, marks, digits, other scripts. */
const EDGES = [
  '',
  '\n',
  ' ',
  '.',
  '"',
  '}',
  "'",
  '7',
  'ſ',
  '日本語。',
  '🙂',
  '\u0301',
  '\\',
  '\u2028',
  '<|endoftext|>',
]
const text = fc
  .tuple(fc.constantFrom(...EDGES), fc.string({ unit: 'binary', maxLength: 20 }), fc.constantFrom(...EDGES))
  .map((parts) => parts.join(''))
const schema = fc.oneof(
  fc.constant({}),
  text.map((description) => ({ type: 'object', description })),
  text.map((description) => ({
    type: 'object',
    properties: { a: { type: 'string', description } },
    required: ['a'],
  })),
  text.map((value) => ({ properties: { b: { enum: [value] } }, required: [], type: 'object' })),
  text.map((description) => ({ type: 'object', properties: {}, required: [], description, anyOf: [{}] })),
)
const definitions = fc
  .array(
    fc.record({
      description: text,
      parameters: schema,
      kind: fc.constantFrom('builtin', 'workflow', undefined),
    }),
    { maxLength: 6 },
  )
  .map((all) =>
    all.map(({ description, parameters, kind }, index): ToolDefinition => {
      const name = `${'own.'.repeat(index % 3)}tool_${index}`
      const runner =
        kind === 'builtin' ? { kind, builtin: 'time' } : kind && { kind, workflowName: `w${index}` }
      return { ...toolOf(name, description, parameters), ...(runner && { runner }) }
    }),
  )

describe.each(SHAPES)('a list of $dialect as $envelope', (shape) => {
  test('takes exactly the tokens that it says, and no more than its budget unless it is empty', () =>
    fc.assert(
      fc.asyncProperty(definitions, fc.option(fc.nat(400), { nil: undefined }), async (tools, budget) => {
        const { body, bill } = await answerTo(tools, { ...shape, budget })
        const listed = bill.full + bill.short + bill.deferred
        expect(bill.used).toBe(encoded(body))
        if (budget !== undefined && listed > 0) expect(bill.used).toBeLessThanOrEqual(budget)
        if (budget === undefined) expect(bill.full).toBe(listed + bill.dropped)
      }),
      { numRuns: 60 },
    ))

  test('is the plain list if nothing is left out', () =>
    fc.assert(
      fc.asyncProperty(definitions, async (tools) => {
        const query = { ...ALL, ...shape }
        const view = catalogView({ user: tools })
        const plain = shape.dialect
          ? atOnce(dialectAnswer(view, query, dialectRules(shape.dialect), WORKFLOWS, new DialectFragments()))
          : atOnce(listAnswer(view, query, WORKFLOWS))
        for (const budget of [undefined, 1_000_000_000]) {
          const { placed, bill, ...answer } = await answerTo(tools, { ...shape, budget })
          const uncounted = answer.tools.map((place) => ({ ...place, tokens: undefined }))
          expect({ ...answer, tools: uncounted }).toEqual(plain)
          expect([bill.short, bill.deferred, bill.dropped]).toEqual([0, 0, 0])
          expect(placed).toHaveLength(budget === undefined ? 0 : bill.full)
        }
      }),
      { numRuns: 20 },
    ))

  test('has at most as much with less budget, in the order of the catalog', () =>
    fc.assert(
      fc.asyncProperty(definitions, fc.nat(400), fc.nat(100), async (tools, budget, more) => {
        const heights = async (tokens: number) => {
          const { placed } = await answerTo(tools, { ...shape, budget: tokens })
          const height = { dropped: 0, deferred: 1, short: 2, full: 3 }
          return new Map(placed.map(({ entry, level }) => [entry.name, height[level ?? 'dropped']]))
        }
        const [less, larger] = [await heights(budget), await heights(budget + more)]
        for (const [name, height] of less) expect(larger.get(name)).toBeGreaterThanOrEqual(height)
        const { body } = await answerTo(tools, { ...shape, budget })
        const names = [...body.toString().matchAll(/(?<="name":")[^"]*tool_\d/g)].map(String)
        const inCatalog = [...catalogView({ user: tools }).entries()].map(({ name }) => name)
        const at = names.map((name) =>
          inCatalog.findIndex((one) => one.replaceAll('.', '__') === name.replaceAll('.', '__')),
        )
        expect(at).toEqual(at.toSorted((a, b) => a - b))
      }),
      { numRuns: 20 },
    ))
})

const LONG = { type: 'object', properties: { x: { type: 'string', description: 'long '.repeat(20) } } }
const three = ['a', 'b', 'c'].map((name) => toolOf(name, `First. ${'Second. '.repeat(20)}`, LONG))
const levelsOf = async (budget: number, order: Parameters<typeof answerTo>[2] = {}) =>
  Object.fromEntries(
    (await answerTo(three, { budget }, order)).placed.map(({ entry, level }) => [entry.name, level]),
  )

describe('the order of priority', () => {
  const rank = { revision: 'r', places: new Map([['b', 0]]) }

  test('is by name, unless tools are used or pinned', async () => {
    expect(await levelsOf(40)).toEqual({ a: 'deferred', b: undefined, c: undefined })
    expect(await levelsOf(40, { rank })).toEqual({ b: 'deferred', a: undefined, c: undefined })
    expect(await levelsOf(40, { rank, pinned: ['c'] })).toEqual({ c: 'deferred', b: undefined, a: undefined })
  })

  test('gives what is pinned or used all that it can have before others are listed', async () => {
    expect(await levelsOf(150, { rank })).toEqual({ b: 'full', a: 'deferred', c: undefined })
    const { placed } = await answerTo(three, { budget: 150 }, { rank, pinned: ['c'] })
    expect(placed.map(({ entry, because }) => [entry.name, because])).toEqual([
      ['c', 'pinned'],
      ['b', 'used'],
      ['a', 'name'],
    ])
  })
})

test('a budget that is too small even for an empty list is answered with one, which says what it takes', async () => {
  for (const budget of [0, 1, 10]) {
    const { body, bill } = await answerTo(three, { budget, envelope: 'items' })
    expect(body.toString()).toBe('{"items":[]}')
    expect(billText(bill)).toBe(`${encoded(body)}/${budget}; full=0; short=0; deferred=0; dropped=3`)
  }
})

test('a definition of 100,000 tokens does not hide the others', async () => {
  const huge = toolOf('a_huge', '1234567890'.repeat(30_000), {})
  const all = [huge, ...three]
  const { bill, body } = await answerTo(all, { budget: 2_000 })
  expect(bill).toMatchObject({ full: 3, deferred: 1, dropped: 0 })
  expect(bill.used).toBe(encoded(body))
})

test('a deferred tool is not in strict mode, which would allow a call only without arguments', async () => {
  const { body } = await answerTo(three, { budget: 100, dialect: 'openai-strict' })
  const [first] = JSON.parse(body.toString()) as { function: object }[]
  expect(first?.function).toEqual({
    name: 'a',
    description: '',
    parameters: { type: 'object', properties: {}, required: [] },
    strict: false,
  })
})

test('a page without a budget says what the page takes', async () => {
  const { body, bill, nextCursor } = await answerTo(three, { limit: 2 })
  expect(bill).toEqual({ used: encoded(body), budget: undefined, full: 2, short: 0, deferred: 0, dropped: 0 })
  expect(nextCursor).toBeDefined()
})

describe.each(SHAPES)('a list of $dialect as $envelope with search tools and loaded ones', (shape) => {
  const finders = ['load_tools', 'search_tools'].map((name): ToolDefinition => {
    const runner = { kind: 'builtin', builtin: name } as const
    return { ...toolOf(name, 'Finds. More.', {}), runner }
  })
  test.each([undefined, 0, 60, 150, 400, 10_000])('and the budget %s takes what it says', async (budget) => {
    const query = { ...shape, budget, withSearch: true, names: new Set(['a', 'c']), loaded: ['b'] }
    const { body, bill } = await answerTo([...three, ...finders], query)
    expect(bill.used).toBe(encoded(body))
    if (budget !== undefined && body.length > 30) expect(bill.used).toBeLessThanOrEqual(budget)
    if (budget === 10_000) expect(bill.dropped).toBe(0)
    if (budget === 400)
      expect(body.toString().lastIndexOf('"b"')).toBeGreaterThan(body.toString().indexOf('"c"'))
  })
})

test('in a list that is searched, the tools that fit best come first in the budget', async () => {
  const view = catalogView({ user: three })
  const found = ['c', 'a'].flatMap((name) => view.resolve(name) ?? [])
  const counting = {
    levelFragments: new LevelFragments(new DialectFragments()),
    count,
    pinned: new Set<string>(),
    rank: { revision: 'r', places: new Map([['a', 0]]) },
  }
  const query = { ...ALL, q: 'words', budget: 40, countsTokens: true }
  const { placed } = atOnce(countedAnswer(view, query, undefined, WORKFLOWS, counting, found))
  expect(placed.map(({ entry, because, level }) => [entry.name, because, level])).toEqual([
    ['c', 'found', 'deferred'],
    ['a', 'found', undefined],
  ])
})

test('a loaded tool comes first in the budget, also if the list has it without being asked', async () => {
  const parameters = { type: 'object', properties: {}, required: [] }
  const tools = ['a', 'b', 'c'].map((name) => toolOf(name, 'It does this and that. '.repeat(10), parameters))
  const { bill: whole } = await answerTo([tools[2] as ToolDefinition], { budget: 1_000 })
  const { placed } = await answerTo(tools, { budget: whole.used + 2, loaded: ['c'] })
  expect(placed[0]).toMatchObject({ entry: { name: 'c' }, because: 'pinned', level: 'full' })
})

test.each([undefined, 'anthropic'] as const)(
  'a description of one word of 30,000 letters is never counted at once, dialect %s',
  async (dialect) => {
    const long = toolOf('long', 'a'.repeat(30_000), { type: 'object', properties: {}, required: [] })
    function short(counted: string): number {
      expect(counted.length).toBeLessThan(10_000)
      return count(counted)
    }
    const counter = Object.assign(short, { steps: count.steps })
    const { body, bill } = await answerTo([long], { dialect, budget: 20_000 }, { counter })
    expect(bill.used).toBe(count(body.toString()))
  },
)
