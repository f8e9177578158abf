import { expect, test } from '@jest/globals'
import { aliasOf, dialectRules, DIALECTS, inDialect, nameIn } from '@toolrack/contract'
import type { Dialect, ToolDefinition } from '@toolrack/contract'
import fc from 'fast-check'
import { atOnce } from '../../../../functions/src/loop-turn.ts'
import type { CatalogView } from '../../../../functions/src/catalog/views/catalog-view.ts'
import { readCursor } from '../../../../functions/src/catalog/views/list-query.ts'
import { dialectAnswer } from '../../../../functions/src/catalog/views/list-answer.ts'
import { DialectFragments } from '../../../../functions/src/catalog/views/dialect-fragments.ts'
import { explainName } from '../../../../functions/src/catalog/views/explain-name.ts'
import { grantOf } from '../../../../functions/src/access/principal.ts'
import type { ListQuery } from '../../../../functions/src/catalog/views/list-query.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'
import { ALL } from '../../../support/list-query.ts'

const WORKFLOWS = { defaultWorkflow: 'flow' }

function list(view: CatalogView, dialect: Dialect, query: Partial<ListQuery> = {}) {
  const answer = atOnce(
    dialectAnswer(view, { ...ALL, ...query }, dialectRules(dialect), WORKFLOWS, new DialectFragments()),
  )
  const body = JSON.parse(answer.body.toString()) as readonly { functionDeclarations?: object[] }[]
  const items = dialect === 'gemini' ? (body[0]?.functionDeclarations ?? []) : body
  return { ...answer, names: items.map((item) => nameOf(item as Named)) }
}

type Named = { readonly name?: string; readonly function?: { readonly name: string } }

function nameOf(item: Named): string {
  return item.name ?? item.function?.name ?? ''
}

/** No model vendor takes it. */
function unsayable(name: string): ToolDefinition {
  const parameters = { type: 'object', properties: { 'a b': {} }, anyOf: [{ required: ['a b'] }] }
  return { type: 'function', function: { name, description: '', parameters } }
}

test('what nobody can say is left out of every vendor of models, and of MCP by nobody', () => {
  const view = catalogView({ file: [tool('a'), unsayable('b'), tool('c')] })
  for (const dialect of DIALECTS) {
    const { names, quarantined } = list(view, dialect)
    const isMcp = dialect === 'mcp'
    expect([names, quarantined]).toEqual(isMcp ? [['a', 'b', 'c'], undefined] : [['a', 'c'], 'b'])
  }
})

test('a list above 25 MB in a dialect is refused by name of its cure, and its pages are not', () => {
  const large = Array.from({ length: 140 }, (_, index) => tool(`t${index + 100}`, 'x'.repeat(200_000)))
  const view = catalogView({ file: large })
  for (const dialect of DIALECTS) {
    expect(() => list(view, dialect)).toThrow(/limit/)
    const first = list(view, dialect, { limit: 1_000 })
    const second = list(view, dialect, { limit: 1_000, after: readCursor(first.nextCursor ?? '') })
    expect(first.body.length).toBeLessThan(25 * 1024 * 1024)
    expect(first.names.length + second.names.length).toBe(140)
    expect(second.nextCursor).toBeUndefined()
  }
})

test('a list that is too large is refused before more of it is made than an answer holds', () => {
  const many = Array.from({ length: 400 }, (_, index) => tool(`t${index + 100}`, 'x'.repeat(200_000)))
  const view = catalogView({ file: many })
  let made = 0
  class Counting extends DialectFragments {
    override of(...asked: Parameters<DialectFragments['of']>) {
      made += 1
      return super.of(...asked)
    }
  }
  const gemini = dialectRules('gemini')
  expect(() => atOnce(dialectAnswer(view, ALL, gemini, WORKFLOWS, new Counting()))).toThrow(
    /more than the 26214400 bytes/,
  )
  expect(made).toBeLessThan(140)
})

test("a job's token decides by its own tools which alias is whose", () => {
  const view = catalogView({ global: [tool('a:b'), tool('a__b')] })
  const [first] = [...view.entries()]
  if (!first) throw new Error('there is no tool')
  const narrowed = view.narrowedTo(grantOf([{ name: 'a:b', digest: first.digest }]))
  expect([list(view, 'openai').names, list(view, 'openai').quarantined]).toEqual([['a__b'], 'a:b'])
  expect([list(narrowed, 'openai').names, list(narrowed, 'openai').quarantined]).toEqual([
    ['a__b'],
    undefined,
  ])
  expect(narrowed.resolve('a__b')?.name).toBe('a:b')
})

const NAMES = ['a:b', 'a__b', 'a_:b', 'a:_b', 'a___b', 'a.b', aliasOf('a.b'), 'c', 'd:e'] as const
const layer = fc
  .uniqueArray(
    fc.record({ name: fc.constantFrom(...NAMES), kind: fc.constantFrom('plain', 'sealed', 'unsayable') }),
    {
      selector: ({ name }) => name,
    },
  )
  .map((tools) =>
    tools.map(({ name, kind }): ToolDefinition => {
      if (kind === 'unsayable') return unsayable(name)
      return { ...tool(name), sealed: kind === 'sealed' }
    }),
  )
const catalogs = fc
  .tuple(layer, layer, layer)
  .map(([user, global, file]) => catalogView({ user, global, file }))
const dialects = fc.constantFrom(...DIALECTS)

test('whatever the layers hold, each listed name calls the tool that it was listed for, and no name comes twice', () => {
  fc.assert(
    fc.property(catalogs, dialects, (view, dialect) => {
      const { names, quarantined = '' } = list(view, dialect)
      expect(new Set(names).size).toBe(names.length)
      const left = quarantined === '' ? [] : quarantined.split(',')
      const kept = [...view.entries()].map(({ name }) => name).filter((name) => !left.includes(name))
      expect(names).toEqual(kept.map((name) => nameIn(dialectRules(dialect), name)))
      expect(names.map((name) => view.resolve(name)?.name)).toEqual(kept)
    }),
  )
})

test('the list and explain agree about what is quarantined, whichever names are asked for', () => {
  fc.assert(
    fc.property(catalogs, dialects, fc.constantFrom(...NAMES), (view, dialect, name) => {
      const { names, quarantined } = list(view, dialect, { names: new Set([name]) })
      const explained = atOnce(explainName(view, name))
      const { conversion, alias, obstacle } = explained.dialects?.[dialect] ?? {}
      if (!explained.visible)
        return expect([names, quarantined, conversion]).toEqual([[], undefined, undefined])
      const isLeft = conversion === 'quarantined'
      expect([names, quarantined]).toEqual(isLeft ? [[], explained.name] : [[alias], undefined])
      if (isLeft) expect(obstacle?.pointer).toMatch(/^\/function\/(?:name$|parameters)/)
    }),
  )
})

test('pages of any size, joined, are the whole list, and name what is left out once', () => {
  fc.assert(
    fc.property(catalogs, dialects, fc.integer({ min: 1, max: 4 }), (view, dialect, limit) => {
      const paged: string[] = []
      const left: string[] = []
      let after: ListQuery['after']
      for (;;) {
        const page = list(view, dialect, { limit, after })
        expect(page.names.length).toBeLessThanOrEqual(limit)
        paged.push(...page.names)
        left.push(...(page.quarantined?.split(',') ?? []))
        if (page.nextCursor === undefined) break
        after = readCursor(page.nextCursor)
      }
      const whole = list(view, dialect)
      expect([paged, left]).toEqual([whole.names, whole.quarantined?.split(',') ?? []])
    }),
  )
})

test('the bytes are those of the contract, one item after the other', () => {
  const tools = [tool('a:b'), tool('c')]
  const view = catalogView({ file: tools })
  for (const dialect of DIALECTS) {
    const items = tools.map((one) => {
      const converted = inDialect(one, dialectRules(dialect))
      return 'item' in converted ? JSON.stringify(converted.item) : ''
    })
    const joined = items.join(',')
    const expected = dialect === 'gemini' ? `[{"functionDeclarations":[${joined}]}]` : `[${joined}]`
    expect(list(view, dialect).body.toString()).toBe(expected)
  }
})
