import { expect, test } from '@jest/globals'
import { isToolrackError, type ToolDefinition } from '@toolrack/contract'
import fc from 'fast-check'
import { atOnce } from '../../../../functions/src/loop-turn.ts'
import { inOrder, readCursor, writeCursor } from '../../../../functions/src/catalog/views/list-query.ts'
import { listAnswer } from '../../../../functions/src/catalog/views/list-answer.ts'
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
    return action()
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
