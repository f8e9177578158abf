import { expect, test } from '@jest/globals'
import type { Layer, ToolDefinition } from '@toolrack/contract'
import { aliasOf, definitionDigest, LAYERS } from '@toolrack/contract'
import fc from 'fast-check'
import { atOnce } from '../../../../functions/src/loop-turn.ts'
import type { CatalogView } from '../../../../functions/src/catalog/views/catalog-view.ts'
import { explainName } from '../../../../functions/src/catalog/views/explain-name.ts'
import { grantOf } from '../../../../functions/src/access/principal.ts'
import { layersText } from '../../../../functions/src/catalog/views/list-answer.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'

const sealed = (definition: ToolDefinition): ToolDefinition => ({ ...definition, sealed: true })
const grant = (...tools: readonly ToolDefinition[]) =>
  grantOf(tools.map((it) => ({ name: it.function.name, digest: definitionDigest(it) })))
const names = (view: CatalogView): string[] =>
  [...view.entries()].map(({ layer, name }) => `${layer}/${name}`)
const reason = (view: CatalogView, name: string): string | undefined =>
  atOnce(explainName(view, name)).hidden?.reason

test('a grant leaves the granted tools, each in its layer, and nothing else', () => {
  const view = catalogView({
    user: [tool('a'), tool('b')],
    global: [tool('c')],
    file: [tool('d'), tool('e')],
  })
  const narrowed = view.narrowedTo(grant(tool('b'), tool('d')))
  expect(names(narrowed)).toEqual(['user/b', 'file/d'])
  expect(layersText(narrowed)).toBe('user=1,global=0,file=1')
  for (const layer of LAYERS) expect(narrowed.layers[layer].snapshot?.byName.get('a')).toBeUndefined()
  expect(names(view)).toEqual(['user/a', 'user/b', 'global/c', 'file/d', 'file/e'])
})

test('a tool that was granted as another layer defines it is not found there once it is shadowed', () => {
  const [mine, theirs] = [tool('a', 'Mine.'), tool('a', 'Theirs.')]
  const narrowed = catalogView({ user: [mine], global: [theirs] }).narrowedTo(grant(theirs))
  expect(names(narrowed)).toEqual([])
  expect(narrowed.winner('a')).toBeUndefined()
  expect(reason(narrowed, 'a')).toBe('DIGEST_CHANGED')
})

test('of a granted tool only the winning definition is seen: what it shadows, or has sealed out, is not', () => {
  const [mine, theirs] = [tool('a', 'Mine.'), tool('a', 'Theirs.')]
  const over = catalogView({ user: [mine], global: [theirs] }).narrowedTo(grant(mine))
  expect(layersText(over)).toBe('user=1,global=0,file=0')
  expect(atOnce(explainName(over, 'a'))).toMatchObject({ winner: 'user', shadowed: [], visible: true })
  const under = catalogView({ user: [mine], global: [sealed(theirs)] }).narrowedTo(grant(theirs))
  expect(layersText(under)).toBe('user=0,global=1,file=0')
})

test('the same content in another layer is the same tool', () => {
  expect(names(catalogView({ user: [tool('a')], file: [tool('a')] }).narrowedTo(grant(tool('a'))))).toEqual([
    'user/a',
  ])
})

test('a name outside the grant is explained exactly like one that nobody defines', () => {
  const narrowed = catalogView({ user: [tool('a')], file: [tool('secret'), tool('b')] }).narrowedTo(
    grant(tool('a')),
  )
  const outside = JSON.stringify(atOnce(explainName(narrowed, 'secret')))
  expect(outside).toBe(JSON.stringify(atOnce(explainName(narrowed, 'zecret'))).replaceAll('zecret', 'secret'))
  expect(atOnce(explainName(narrowed, 'secret')).layers.map(({ status }) => status)).toEqual([
    'absent',
    'absent',
    'absent',
  ])
  expect(reason(narrowed, 'secret')).toBe('NOT_GRANTED')
})

test('a granted tool that has changed is gone, and explain says so by its name and its alias, and shows no layer of it', () => {
  const narrowed = catalogView({ global: [tool('math.pi', 'New.')] }).narrowedTo(
    grant(tool('math.pi', 'Old.')),
  )
  expect(names(narrowed)).toEqual([])
  for (const name of ['math.pi', aliasOf('math.pi')]) {
    expect(narrowed.resolve(name)).toBeUndefined()
    expect(atOnce(explainName(narrowed, name))).toMatchObject({
      visible: false,
      winner: null,
      hidden: { reason: 'DIGEST_CHANGED' },
      layers: [{ status: 'absent' }, { status: 'absent' }, { status: 'absent' }],
    })
  }
})

test('a granted tool that was deleted is like one that nobody defines', () => {
  expect(reason(catalogView({}).narrowedTo(grant(tool('a'))), 'a')).toBe('NOT_DEFINED')
})

test('while a layer is lost, a granted tool that it may define is not called changed', () => {
  const view = catalogView({ user: 'error', global: [tool('a', 'Theirs.')] })
  expect(reason(view.narrowedTo(grant(tool('a', 'Mine.'))), 'a')).toBe('LAYER_LOST')
})

test('an alias means a granted tool, and never one outside the grant', () => {
  const view = catalogView({ global: [tool('a:b'), tool('c:d')] })
  const narrowed = view.narrowedTo(grant(tool('a:b')))
  expect(narrowed.resolve('a__b')?.name).toBe('a:b')
  expect(narrowed.resolve('c__d')).toBeUndefined()
  expect(view.resolve('c__d')?.name).toBe('c:d')
})

test('what a layer left out is not told', () => {
  const view = catalogView({ file: [tool('a')] })
  const skipped = [{ source: 'x.json', pointer: '/tools/0', message: 'secret_tool is broken' }]
  const { snapshot } = view.layers.file
  Object.defineProperty(snapshot, 'skipped', { value: skipped })
  expect(view.layers.file.snapshot?.skipped).toEqual(skipped)
  expect(view.narrowedTo(grant(tool('a'))).layers.file.snapshot?.skipped).toEqual([])
})

test('a lost or stale layer is lost or stale for a grant too', () => {
  const narrowed = catalogView({ user: 'error', file: [tool('a')] }, ['file']).narrowedTo(grant(tool('a')))
  expect([layersText(narrowed), narrowed.isWhole]).toEqual(['user=error,global=0,file=stale', false])
})

test('each grant has a revision of its own, equal grants have the same, and every other has its own entity tags', () => {
  const view = catalogView({ file: [tool('a'), tool('b')] })
  const [one, other] = [view.narrowedTo(grant(tool('a'))), view.narrowedTo(grant(tool('b')))]
  const [both, reversed] = [grant(tool('a'), tool('b')), grant(tool('b'), tool('a'))]
  expect(new Set([view, one, other, view.narrowedTo(both)].map(({ revision }) => revision)).size).toBe(4)
  expect(view.narrowedTo(both).revision).toBe(view.narrowedTo(reversed).revision)
})

test('whether a user has definitions of their own is not forgotten when none of them is granted', () => {
  expect(catalogView({ user: [tool('x')], file: [tool('a')] }).narrowedTo(grant(tool('a'))).hasOwn).toBe(true)
  expect(catalogView({ file: [tool('a')] }).narrowedTo(grant(tool('a'))).hasOwn).toBe(false)
})

const NAMES = ['a', 'b', 'c', 'd'] as const
const definition = fc.record({
  name: fc.constantFrom(...NAMES),
  text: fc.constantFrom('One.', 'Two.'),
  isSealed: fc.boolean(),
})
const layer = fc.uniqueArray(definition, { selector: ({ name }) => name })
const granted = fc.uniqueArray(definition, { selector: ({ name }) => name, minLength: 1 })

test('whatever the layers hold, a grant shows exactly the granted names whose winner is the granted one', () => {
  fc.assert(
    fc.property(layer, layer, layer, granted, (user, global, file, wanted) => {
      const tools = (items: typeof user): ToolDefinition[] =>
        items.map(({ name, text, isSealed }) => ({ ...tool(name, text), ...(isSealed && { sealed: true }) }))
      const layers: { [L in Layer]: ToolDefinition[] } = {
        user: tools(user),
        global: tools(global),
        file: tools(file),
      }
      const view = catalogView(layers)
      const asked = grant(...tools(wanted))
      const narrowed = view.narrowedTo(asked)
      for (const name of NAMES) {
        const winner = view.winner(name)
        const seen = winner && asked.tools.get(name) === winner.digest ? winner : undefined
        expect(narrowed.winner(name)).toBe(seen)
        expect(atOnce(explainName(narrowed, name)).visible).toBe(seen !== undefined)
      }
      expect([...narrowed.entries()]).toEqual(
        [...view.entries()].filter(({ name, digest }) => asked.tools.get(name) === digest),
      )
    }),
  )
})
