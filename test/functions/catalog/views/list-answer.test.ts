import { expect, test } from '@jest/globals'
import { dialectRules, DIALECTS, isToolrackError, nameIn } from '@toolrack/contract'
import type { Dialect, ToolDefinition } from '@toolrack/contract'
import fc from 'fast-check'
import { atOnce } from '../../../../functions/src/loop-turn.ts'
import { inOrder, readCursor, writeCursor } from '../../../../functions/src/catalog/views/list-query.ts'
import { DialectFragments } from '../../../../functions/src/catalog/views/dialect-fragments.ts'
import { explainName } from '../../../../functions/src/catalog/views/explain-name.ts'
import { dialectAnswer, listAnswer } from '../../../../functions/src/catalog/views/list-answer.ts'
import { ENVELOPES, type ListQuery } from '../../../../functions/src/catalog/views/list-query.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'
import { ALL } from '../../../support/list-query.ts'

const WORKFLOWS = { defaultWorkflow: 'default-flow' }

const list = (view: ReturnType<typeof catalogView>, query: Partial<ListQuery> = {}) => {
  const answer = atOnce(listAnswer(view, { ...ALL, ...query }, WORKFLOWS))
  return { ...answer, value: JSON.parse(answer.body.toString()) as ToolDefinition[] }
}
const names = (tools: ToolDefinition[]) => tools.map((listed) => listed.function.name)
const large = (name: string): ToolDefinition => tool(name, 'x'.repeat(200_000))

test('an empty catalog is an empty array or an empty envelope', () => {
  expect(atOnce(listAnswer(catalogView({}), ALL, WORKFLOWS)).body.toString()).toBe('[]')
  expect(atOnce(listAnswer(catalogView({}), { ...ALL, envelope: 'items' }, WORKFLOWS)).body.toString()).toBe(
    '{"items":[]}',
  )
})

test('an item carries the workflow of its runner, else the default one, and its bytes are otherwise those of the array', () => {
  const flow: ToolDefinition = { ...tool('b'), runner: { kind: 'workflow', workflowName: 'fl"ow' } }
  const view = catalogView({ file: [tool('a'), flow] })
  const { items } = JSON.parse(
    atOnce(listAnswer(view, { ...ALL, envelope: 'items' }, WORKFLOWS)).body.toString(),
  ) as {
    items: { workflowName: string }[]
  }
  expect(items.map((item) => item.workflowName)).toEqual(['default-flow', 'fl"ow'])
  expect(items.map(({ workflowName: _workflowName, ...listed }) => listed)).toEqual(list(view).value)
})

test.each(ENVELOPES)('the places of the tools in a list of %s are those of their JSON', (envelope) => {
  const view = catalogView({ file: ['a', 'b', 'c'].map((name) => tool(name, 'Tells 日本語.')) })
  const { body, tools } = atOnce(listAnswer(view, { ...ALL, envelope }, WORKFLOWS))
  const found = tools.map(({ name, start, end }) => {
    const text = body.toString('utf8', start, end)
    return [name, (JSON.parse(text) as ToolDefinition).function.name]
  })
  expect(found).toEqual(['a', 'b', 'c'].map((name) => [name, name]))
})

const echo = (name: string): ToolDefinition => ({
  ...tool(name),
  runner: { kind: 'builtin', builtin: 'echo' },
})

/** The names of a page of items, the names that it leaves out, and the cursor of the next page. */
function itemsOf(
  view: ReturnType<typeof catalogView>,
  query: Partial<ListQuery> = {},
  invokeWorkflow?: string,
) {
  const workflows = { ...WORKFLOWS, invokeWorkflow }
  const { body, omitted, nextCursor } = atOnce(
    listAnswer(view, { ...ALL, envelope: 'items', ...query }, workflows),
  )
  const { items } = JSON.parse(body.toString()) as { items: (ToolDefinition & { workflowName: string })[] }
  return { items: items.map((item) => [item.function.name, item.workflowName]), omitted, nextCursor }
}

test('items that the service runs itself carry the workflow that calls it, and an array has them without it', () => {
  const module = { kind: 'python', module: 'm', sha256: '0'.repeat(64) } as const
  const named: ToolDefinition = {
    ...tool('d'),
    runner: { ...echo('d').runner, kind: 'builtin', workflowName: 'x' },
  }
  const view = catalogView({ file: [tool('a'), echo('b'), { ...tool('c'), runner: module }, named] })
  expect(itemsOf(view, {}, 'tools-Service')).toEqual({
    items: [
      ['a', 'default-flow'],
      ['b', 'tools-Service'],
      ['c', 'tools-Service'],
      ['d', 'tools-Service'],
    ],
  })
  expect(itemsOf(view)).toEqual({ items: [['a', 'default-flow']], omitted: 'b,c,d' })
  expect([list(view).omitted, names(list(view).value)]).toEqual([undefined, ['a', 'b', 'c', 'd']])
})

test('what is omitted is not unknown, takes no place of a page, and is named on one page only', () => {
  const view = catalogView({
    file: ['a', 'b', 'c', 'd', 'e'].map((name) => (name < 'd' ? echo(name) : tool(name))),
  })
  expect(
    atOnce(listAnswer(view, { ...ALL, envelope: 'items', names: new Set(['a']) }, WORKFLOWS)).unknown,
  ).toBeUndefined()
  const first = itemsOf(view, { limit: 1 })
  expect(first).toMatchObject({ items: [['d', 'default-flow']], omitted: 'a,b,c' })
  const second = itemsOf(view, { limit: 1, after: readCursor(first.nextCursor ?? '') })
  expect(second).toEqual({ items: [['e', 'default-flow']] })
})

test('tags and categories narrow together; within one of them any value is enough', () => {
  const view = catalogView({
    file: [
      { ...tool('a'), tags: ['x', 'y'], category: 'one' },
      { ...tool('b'), tags: ['y'], category: 'two' },
      { ...tool('c'), category: 'one' },
    ],
  })
  expect(names(list(view, { tags: new Set(['x', 'nope']) }).value)).toEqual(['a'])
  expect(names(list(view, { categories: new Set(['one', 'two']) }).value)).toEqual(['a', 'b', 'c'])
  expect(names(list(view, { tags: new Set(['y']), categories: new Set(['two']) }).value)).toEqual(['b'])
  expect(names(list(view, { names: new Set(['a', 'c']), tags: new Set(['y']) }).value)).toEqual(['a'])
  expect(list(view, { tags: new Set(['X']) }).value).toEqual([])
  expect(list(view, { categories: new Set(['nothing']) }).value).toEqual([])
})

test('unknown names are told, twenty valid ones and the number of the rest', () => {
  const asked = [...Array.from({ length: 25 }, (_, index) => `N${index}`), 'not a name', '€']
  expect(list(catalogView({}), { names: new Set(asked) }).unknown).toBe(`${asked.slice(0, 20).join(',')},+7`)
  expect(list(catalogView({ file: [tool('a')] }), { names: new Set(['a']) }).unknown).toBeUndefined()
})

test('a list above 25 MB is refused by name of its cure, and its pages are not', () => {
  const view = catalogView({
    file: Array.from({ length: 140 }, (_, index) => large(`t${String(index).padStart(3, '0')}`)),
  })
  for (const envelope of ENVELOPES)
    expect(refusalOf(() => list(view, { envelope }))).toEqual({
      code: 'ANSWER_TOO_LARGE',
      message: expect.stringMatching(/page it with limit \(at most 1000\) and cursor\.$/),
    })
  expect(names(list(view, { names: new Set(['t000', 't139']) }).value)).toEqual(['t000', 't139'])
  const first = list(view, { limit: 1_000 })
  expect(first.value.length).toBeLessThan(140)
  expect(first.body.length).toBeLessThanOrEqual(25 * 1024 * 1024)
  const after = readCursor(first.nextCursor ?? '')
  const second = list(view, { limit: 1_000, after })
  expect(names(first.value).concat(names(second.value))).toHaveLength(140)
  expect(second.nextCursor).toBeUndefined()
})

function refusalOf(action: () => unknown): unknown {
  try {
    action()
    return 'nothing was refused'
  } catch (error) {
    if (isToolrackError(error)) return { code: error.code, message: error.message }
    throw error
  }
}

const name = fc.stringMatching(/^[a-f]{1,2}$/)
const tools = fc.uniqueArray(name).map((all) => all.map((each) => tool(each)))

test('pages of any size, joined, are the whole list', () => {
  fc.assert(
    fc.property(tools, tools, tools, fc.integer({ min: 1, max: 7 }), (user, global, file, limit) => {
      const view = catalogView({ user, global, file })
      const paged: string[] = []
      let after: ListQuery['after']
      for (;;) {
        const page = list(view, { limit, after })
        paged.push(...names(page.value))
        if (page.nextCursor === undefined) break
        after = readCursor(page.nextCursor)
        expect(after).toBeDefined()
      }
      expect(paged).toEqual(names(list(view).value))
    }),
  )
})

test('pages of a list that is changed between them have each tool that stayed exactly once', () => {
  const changed = fc.uniqueArray(name, { maxLength: 4 })
  const changes = fc.array(fc.tuple(changed, changed), { minLength: 100, maxLength: 100 })
  fc.assert(
    fc.property(tools, tools, changes, fc.integer({ min: 1, max: 7 }), (user, file, between, limit) => {
      const present = new Map(user.map((each) => [each.function.name, each]))
      const touched = new Set<string>()
      const paged: string[] = []
      let after: ListQuery['after']
      for (const [added, removed] of between) {
        const page = list(catalogView({ user: [...present.values()], file }), { limit, after })
        paged.push(...names(page.value))
        if (page.nextCursor === undefined) break
        after = readCursor(page.nextCursor)
        // The tool at the cursor goes too, so the next page begins after one that is no more.
        for (const gone of [...removed, ...names(page.value).slice(-1)]) {
          touched.add(gone)
          present.delete(gone)
        }
        for (const one of added) {
          touched.add(one)
          present.set(one, tool(one))
        }
      }
      const stayed = [...new Set(names(user.concat(file)))].filter((each) => !touched.has(each))
      expect(paged.filter((each) => stayed.includes(each)).toSorted()).toEqual(stayed.toSorted())
    }),
  )
})

test('a cursor reads back as it was written, and orders as the list does', () => {
  const position = fc.record({
    layer: fc.constantFrom('user' as const, 'global' as const, 'file' as const),
    name,
  })
  fc.assert(fc.property(position, (place) => expect(readCursor(writeCursor(place))).toEqual(place)))
  fc.assert(
    fc.property(position, position, (a, b) => {
      const isSame = a.layer === b.layer && a.name === b.name
      expect([inOrder(a, b) > 0, inOrder(b, a) > 0].filter(Boolean)).toHaveLength(isSame ? 0 : 1)
    }),
  )
})

test.each([
  '',
  'x',
  'dXNlcg',
  'dXNlci8',
  'ZmlsZS9hIGI',
  'b3RoZXIvYQ',
  `${writeCursor({ layer: 'file', name: 'a' })}=`,
  '💥',
])('the cursor %j is not ours', (cursor) => expect(readCursor(cursor)).toBeUndefined())

type Named = { readonly name?: string; readonly function?: { readonly name: string } }

/** A list in a dialect. Gemini's tools are inside of one item. */
function listIn(view: ReturnType<typeof catalogView>, dialect: Dialect, query: Partial<ListQuery> = {}) {
  const answer = atOnce(
    dialectAnswer(view, { ...ALL, ...query }, dialectRules(dialect), WORKFLOWS, new DialectFragments()),
  )
  const body = JSON.parse(answer.body.toString()) as readonly (Named & { functionDeclarations?: Named[] })[]
  const items = dialect === 'gemini' ? (body[0]?.functionDeclarations ?? []) : body
  return { ...answer, names: items.map((item) => item.name ?? item.function?.name ?? '') }
}

/** No vendor of models takes it. */
function unsayable(named: string): ToolDefinition {
  const parameters = { type: 'object', properties: { 'a b': {} }, anyOf: [{ required: ['a b'] }] }
  return { type: 'function', function: { name: named, description: '', parameters } }
}

test('pages in a dialect, joined, are the whole list, and name each tool that is left out once', () => {
  const view = catalogView({ user: [tool('a'), unsayable('b'), tool('c')], file: [tool('d'), tool('e:f')] })
  for (const dialect of DIALECTS) {
    const paged: string[] = []
    const left: string[] = []
    let after: ListQuery['after']
    for (let pages = 0; pages < 9; pages += 1) {
      const page = listIn(view, dialect, { limit: 2, after })
      expect(page.names.length).toBeLessThanOrEqual(2)
      paged.push(...page.names)
      left.push(...(page.quarantined?.split(',') ?? []))
      if (page.nextCursor === undefined) break
      after = readCursor(page.nextCursor)
    }
    expect(paged).toEqual(listIn(view, dialect).names)
    expect(left).toEqual(dialect === 'mcp' ? [] : ['b'])
  }
})

test('a list finds its tools by name, by alias and by version, and tells what is unknown, in every dialect', () => {
  const view = catalogView({ user: [tool('ns:plain')], file: [tool('b')] })
  const { digest = '' } = view.winner('ns:plain') ?? {}
  for (const dialect of DIALECTS) {
    for (const asked of ['ns:plain', 'ns__plain', `ns:plain@${digest}`, `ns__plain@${digest}`])
      expect(listIn(view, dialect, { names: new Set([asked]) }).names).toEqual([
        nameIn(dialectRules(dialect), 'ns:plain'),
      ])
    const none = listIn(view, dialect, { names: new Set([`ns:plain@sha256:${'0'.repeat(64)}`, 'nowhere']) })
    expect([none.unknown, none.names]).toEqual(['nowhere', []])
  }
})

test('a list of no tools is an empty list in every dialect', () => {
  const view = catalogView({ file: [tool('a')] })
  for (const dialect of DIALECTS)
    expect(listIn(view, dialect, { names: new Set() }).body.toString()).toBe('[]')
})

test('at most 20 tools that are left out are named, and how many more there are', () => {
  const many = Array.from({ length: 23 }, (_, index) => `many_${String(index).padStart(2, '0')}`)
  const { quarantined, names } = listIn(catalogView({ user: many.map(unsayable) }), 'anthropic')
  expect([quarantined, names]).toEqual([`${many.slice(0, 20).join(',')},+3`, []])
})

test('of two tools of one alias the one that a call by it runs is listed, and explain says which', () => {
  const user = [
    tool('a_:b', 'Comes second.'),
    tool('a:_b', 'Comes first.'),
    tool('x:y', 'Has the alias.'),
    tool('x__y', 'Has the name.'),
  ]
  const view = catalogView({ user })
  for (const dialect of DIALECTS.filter((one) => one !== 'gemini')) {
    const { body, quarantined } = listIn(view, dialect)
    expect(quarantined).toBe('a_:b,x:y')
    expect(body.toString().match(/(?<="description":")(?:Comes|Has)[^"]*/g)).toEqual([
      'Comes first.',
      'Has the name.',
    ])
    const alone = listIn(view, dialect, { names: new Set(['a_:b']) })
    expect([alone.quarantined, alone.names]).toEqual(['a_:b', []])
  }
  const gemini = listIn(view, 'gemini')
  expect([gemini.quarantined, gemini.names]).toEqual([undefined, ['a:_b', 'a_:b', 'x:y', 'x__y']])
  const explained = atOnce(explainName(view, 'a_:b')).dialects
  expect(explained?.openai).toEqual({
    alias: 'a___b',
    conversion: 'quarantined',
    obstacle: {
      pointer: '/function/name',
      reason: 'its alias is also the alias of a:_b, which a call by it runs',
    },
  })
  expect(explained?.gemini).toEqual({ alias: 'a_:b', conversion: 'full', obstacle: null })
  expect(atOnce(explainName(view, 'x:y')).dialects?.mcp?.obstacle?.reason).toBe(
    'its alias is the name of x__y, which a call by it runs',
  )
  expect(view.resolve('a___b')?.name).toBe('a:_b')
  const without = catalogView({ user: user.filter((one) => one.function.name !== 'a:_b') })
  expect(listIn(without, 'openai', { names: new Set(['a_:b']) }).quarantined).toBeUndefined()
})
