import { expect, test } from '@jest/globals'
import { aliasOf } from '@toolrack/contract'
import fc from 'fast-check'
import { atOnce } from '../../../../functions/src/loop-turn.ts'
import { explainName } from '../../../../functions/src/catalog/views/explain-name.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'

const sealed = (name: string) => ({ ...tool(name, 'Sealed.'), sealed: true })
const layersOf = (view: ReturnType<typeof catalogView>) =>
  [...view.entries()].map((entry) => `${entry.layer}/${entry.name}`)

test('the first layer of a name wins: user, then global, then file', () => {
  const view = catalogView({
    user: [tool('a')],
    global: [tool('a'), tool('b')],
    file: [tool('a'), tool('b'), tool('c')],
  })
  expect(layersOf(view)).toEqual(['user/a', 'global/b', 'file/c'])
})

test('names are ordered by code unit within a layer', () => {
  const view = catalogView({ file: ['b', 'a', 'Z', '_x', 'a1', 'a.b', 'a:b'].map((name) => tool(name)) })
  expect([...view.entries()].map(({ name }) => name)).toEqual(['Z', '_x', 'a', 'a.b', 'a1', 'a:b', 'b'])
})

test('a sealed name belongs to the layer that sealed it, the lowest first', () => {
  const view = catalogView({
    user: [tool('a'), tool('b')],
    global: [sealed('a'), sealed('b')],
    file: [sealed('b')],
  })
  expect(layersOf(view)).toEqual(['global/a', 'file/b'])
})

test('explain shows the definition that a seal has overtaken', () => {
  const view = catalogView({ user: [tool('a')], global: [sealed('a')] })
  const explained = atOnce(explainName(view, 'a'))
  expect(explained).toMatchObject({ winner: 'global', shadowed: ['user'], visible: true, hidden: null })
  expect(explained.layers.map(({ layer, status, role }) => [layer, status, role])).toEqual([
    ['user', 'found', 'sealed-out'],
    ['global', 'found', 'winner'],
    ['file', 'absent', undefined],
  ])
})

test('explain tells an undefined name from one that a lost layer may define', () => {
  expect(atOnce(explainName(catalogView({}), 'a')).hidden?.reason).toBe('NOT_DEFINED')
  expect(atOnce(explainName(catalogView({ global: 'error' }), 'a')).hidden).toMatchObject({
    reason: 'LAYER_LOST',
  })
})

test('explain says who calls the tool', () => {
  const runners = {
    python: { kind: 'python', module: 'm', sha256: '0'.repeat(64) },
    builtin: { kind: 'builtin', builtin: 'echo' },
    workflow: { kind: 'workflow', workflowName: 'flow' },
    unknown: { kind: 'builtin', builtin: 'constructor' },
  } as const
  const run = Object.entries(runners).map(([name, runner]) => ({ ...tool(name), runner }))
  const view = catalogView({ file: [...run, tool('client')] })
  expect(
    ['python', 'builtin', 'client', 'workflow', 'unknown', 'absent'].map(
      (name) => atOnce(explainName(view, name)).callable,
    ),
  ).toEqual(['service', 'service', 'client', 'client', null, null])
})

test('an alias finds its tool, but a tool of exactly that name comes first', () => {
  const view = catalogView({ global: [tool('a:b'), tool('math.pi')], file: [tool('a__b')] })
  expect(view.resolve('a__b')?.name).toBe('a__b')
  expect(view.resolve(aliasOf('math.pi'))?.name).toBe('math.pi')
  expect(catalogView({ global: [tool('a:b')] }).resolve('a__b')?.name).toBe('a:b')
})

test('a lost or stale layer shows in the revision', () => {
  const whole = catalogView({ file: [tool('a')] })
  expect(
    new Set(
      [whole, catalogView({ file: 'error' }), catalogView({ file: [tool('a')] }, ['file'])].map(
        (view) => view.revision,
      ),
    ).size,
  ).toBe(3)
})

const NAMES = ['a', 'b', 'c', 'd', 'e'] as const
const layer = fc.uniqueArray(fc.record({ name: fc.constantFrom(...NAMES), isSealed: fc.boolean() }), {
  selector: ({ name }) => name,
})

test('whatever the layers hold, each name is visible exactly once, and the list, winner and explain agree', () => {
  fc.assert(
    fc.property(layer, layer, layer, (user, global, file) => {
      const tools = (items: typeof user) =>
        items.map(({ name, isSealed }) => (isSealed ? sealed(name) : tool(name)))
      const view = catalogView({ user: tools(user), global: tools(global), file: tools(file) })
      const listed = new Map([...view.entries()].map((entry) => [entry.name, entry.layer]))
      expect([...view.entries()]).toHaveLength(listed.size)
      for (const name of NAMES) {
        expect(view.winner(name)?.layer).toBe(listed.get(name))
        expect(atOnce(explainName(view, name)).winner).toBe(listed.get(name) ?? null)
      }
    }),
  )
})
