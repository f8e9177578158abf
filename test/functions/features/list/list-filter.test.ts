import { AskedLists } from '../../../../functions/src/features/list/asked-lists.ts'
import { expect, test } from '@jest/globals'
import type { Digest, Layer, ToolDefinition } from '@toolrack/contract'
import { aliasOf, inScope, parseScope, type Scope } from '@toolrack/contract'
import fc from 'fast-check'
import { atOnce } from '../../../../functions/src/loop-turn.ts'
import { grantOf, type Principal } from '../../../../functions/src/access/principal.ts'
import { Query } from '../../../../functions/src/http/query.ts'
import {
  askedListFilter,
  filteredView,
  resolveListFilter,
  filteredList,
  type ResolvedListFilter,
} from '../../../../functions/src/features/list/list-filter.ts'
import type { CatalogView } from '../../../../functions/src/catalog/views/catalog-view.ts'
import { explainName } from '../../../../functions/src/catalog/views/explain-name.ts'
import { readScope, scopeContent, scopeDigest } from '../../../../functions/src/features/scopes/kept-scope.ts'
import type { ScopeOwner } from '../../../../functions/src/features/scopes/kept-scope.ts'
import { catalogView } from '../../../support/catalog-view.ts'

const NAMES = ['a', 'ab', 'b', 'git:pull', 'git:push', 'git__push', 'web']

/** A definition of one of few names, so that layers shadow and seal each other. */
const definition = fc
  .record({
    name: fc.constantFrom(...NAMES),
    category: fc.constantFrom(undefined, 'x', 'internal'),
    tags: fc.constantFrom([], ['safe'], ['safe', 'slow']),
    sealed: fc.boolean(),
    isInternal: fc.boolean(),
    isDenied: fc.boolean(),
  })
  .map(({ name, category, tags, sealed, isInternal, isDenied }) => ({
    type: 'function',
    function: { name, description: isDenied ? 'Denied.' : 'Allowed.', parameters: { type: 'object' } },
    ...(category !== undefined && { category }),
    ...(isInternal && { runner: { kind: 'builtin', builtin: 'echo' } }),
    tags,
    sealed,
  })) as unknown as fc.Arbitrary<ToolDefinition>

const layer = fc.uniqueArray(definition, { selector: (tool) => tool.function.name, maxLength: 6 })
const layers = fc.record({ user: layer, global: layer, file: layer })
const granted = fc.option(fc.subarray(NAMES), { nil: undefined })

const item = fc
  .tuple(
    fc.constantFrom('', '', '!'),
    fc.constantFrom('a*', '?', 'git:*', '*push', '@x', '@internal', 'tag:safe', ...NAMES),
  )
  .map((parts) => parts.join(''))
const scopeOf = fc.oneof(
  fc.constantFrom('all', 'none'),
  fc.array(item, { minLength: 1, maxLength: 4 }).map((items) => items.join()),
)
const stored = fc.record({ scope: scopeOf, pinned: fc.subarray(NAMES) })
const written = fc.array(scopeOf, { maxLength: 3 })
const storedScopes = fc.array(stored, { maxLength: 3 })

function parsed(text: string): Scope {
  const scope = parseScope(text)
  if ('fault' in scope) throw new Error(text)
  return scope
}

/** What a request with these scopes reads: the stored ones as rooms 0, 1 and so on. */
async function listFilterBy(
  texts: readonly string[],
  rooms: readonly { readonly scope: string; readonly pinned: readonly string[] }[],
): Promise<ResolvedListFilter | undefined> {
  const find = async (_uid: string, { id }: ScopeOwner) => {
    await Promise.resolve()
    const { scope, pinned } = rooms[Number(id)] ?? { scope: 'none', pinned: [] }
    const content = scopeContent(parsed(scope), pinned)
    const digest: Digest = scopeDigest(content)
    return readScope({ ...content, digest, version: 1, updatedAt: '' })
  }
  const search = new URLSearchParams([
    ...texts.map((text): [string, string] => ['scope', text]),
    ...rooms.map((_, id): [string, string] => ['scope', `ref:room/${id}`]),
  ]).toString()
  const query = new Query(search, ['scope'])
  expect(askedListFilter(query) !== undefined).toBe(texts.length + rooms.length > 0)
  return resolveListFilter({ scopes: { find } } as never, ANN, query)
}

const ANN: Principal = { kind: 'user', uid: 'ann', isAdmin: false }

/** The view of a principal: with a grant of these tools, and with rules that hide every denied tool. */
function viewOf(tools: Record<Layer, ToolDefinition[]>, names: readonly string[] | undefined): CatalogView {
  const whole = catalogView(tools)
  const view = names
    ? whole.narrowedTo(
        grantOf(
          names.flatMap((name) => {
            const winner = whole.winner(name)
            return winner ? [{ name, digest: winner.digest }] : []
          }),
        ),
      )
    : whole
  return view.ruledBy({
    isWhole: true,
    owned: [1],
    revision: 'r',
    hides: ({ stored: { text } }) => (text.includes('Denied.') ? ({} as never) : undefined),
  })
}

const shown = (view: CatalogView): readonly string[] =>
  [...view.entries()].map(({ name, layer: l }) => `${l}/${name}`)

test('a list is what the principal may see, in each of the scopes or pinned, and no scope widens another', async () => {
  await fc.assert(
    fc.asyncProperty(layers, granted, written, storedScopes, async (tools, names, texts, rooms) => {
      const view = viewOf(tools, names)
      const listFilter = await listFilterBy(texts, rooms)
      const list = shown(filteredView(view, listFilter))
      const pinned = new Set(rooms.flatMap((room) => room.pinned))
      const scopes = [...texts, ...rooms.map(({ scope }) => scope)].map(parsed)
      const expected = [...view.entries()].filter(({ name, category, tags, howRun }) => {
        const tool = { name, category, tags, internal: howRun.by === 'builtin' }
        return pinned.has(name) || scopes.every((scope) => inScope(scope, tool))
      })
      expect(list).toEqual(expected.map(({ name, layer: l }) => `${l}/${name}`))
      // Nothing is in the list that the principal does not see without scopes.
      expect(shown(view)).toEqual(expect.arrayContaining([...list]))
      if (!listFilter) return
      // Leaving one scope out never takes away: the intersection lies in each list by fewer scopes, apart from what is pinned.
      for (const [index] of texts.entries()) {
        const fewer = await listFilterBy(texts.toSpliced(index, 1), rooms)
        expect(shown(filteredView(view, fewer))).toEqual(expect.arrayContaining([...list]))
      }
      expect(shown(atOnce(filteredList(view, listFilter, ANN)).view)).toEqual(list)
    }),
    { numRuns: 300 },
  )
})

test('a narrowed view finds by name and alias exactly what it lists, with the same meaning, and explains the rest', async () => {
  await fc.assert(
    fc.asyncProperty(layers, granted, written, storedScopes, async (tools, names, texts, rooms) => {
      const view = viewOf(tools, names)
      const listFilter = await listFilterBy(texts, rooms)
      const narrowed = filteredView(view, listFilter)
      const list = new Set([...narrowed.entries()].map(({ name }) => name))
      for (const name of NAMES.flatMap((one) => [one, aliasOf(one)])) {
        const found = narrowed.resolve(name)
        const meant = view.resolve(name)
        if (found) expect(found).toBe(meant)
        expect(found !== undefined).toBe(meant !== undefined && list.has(meant.name))
        const { visible, hidden } = atOnce(explainName(narrowed, name))
        expect(visible).toBe(found !== undefined)
        if (meant && !found) {
          expect(hidden).toMatchObject({ reason: 'OUT_OF_SCOPE' })
          const from = listFilter?.scopes.map((scope) => scope.from)
          expect(from).toContain(hidden && 'scope' in hidden ? hidden.scope : undefined)
        } else if (!meant) {
          // What is hidden anyway is explained as it is without scopes.
          expect(hidden).toEqual(atOnce(explainName(view, name)).hidden)
        }
      }
    }),
    { numRuns: 300 },
  )
})

const revision = async (...args: Parameters<typeof listFilterBy>) => (await listFilterBy(...args))?.revision

test('equal contents have equal revisions, and others have others', async () => {
  const room = { scope: 'a,b', pinned: ['web'] }
  const base = await revision(['a*'], [room])
  expect(await revision(['a*'], [{ scope: ' b,a,a', pinned: ['web', 'web'] }])).toBe(base)
  for (const other of [
    await revision(['a*'], []),
    await revision(['a*'], [{ ...room, scope: 'a' }]),
    await revision(['a*'], [{ ...room, pinned: [] }]),
    await revision(['a*', 'all'], [room]),
  ])
    expect(other).not.toBe(base)
})

test('a selection of a session binds what is pinned', async () => {
  const tools = NAMES.map(
    (name) =>
      ({
        type: 'function',
        function: { name, description: 'Allowed.', parameters: { type: 'object' } },
      }) as unknown as ToolDefinition,
  )
  const view = catalogView({ file: tools })
  const session = {
    id: 's',
    key: 'k',
    names: new Set(['a', 'web']),
    revision: '1',
    lockedAt: null,
    lineage: [],
  }
  const listFilter: ResolvedListFilter = {
    revision: '',
    session,
    scopes: [{ from: 'a', scope: parsed('a,b') }],
    pinned: new Set(['web', 'git:push']),
  }
  const narrowed = filteredView(view, listFilter)
  expect(shown(narrowed)).toEqual(['file/a', 'file/web'])
  expect(atOnce(explainName(narrowed, 'git:push')).hidden).toMatchObject({ reason: 'NOT_SELECTED' })
  // What the session leaves out matches no item either.
  expect(atOnce(filteredList(view, listFilter, ANN)).unmatched).toBe('b')
})

test.each([
  ['', false],
  ['names=a,b&dialect=openai', false],
  ['names=%22a%22', false],
  ['names[]=scope', false],
  ['scope=a', true],
  ['names=a&scope[]=a', true],
  ['names=a&%73cope=a', true],
  ['names%5B%5D=a', false],
])('?%s narrows: %s', (search, expected) =>
  expect(new AskedLists({ envelope: 'array' }).read(search).listFilter !== undefined).toBe(expected),
)

const SCOPED = catalogView({
  user: [
    { ...plain('git_pull'), category: 'vcs', tags: ['safe'] },
    { ...plain('git_push'), category: 'vcs', tags: ['slow'] },
    { ...plain('web.search'), category: 'web', tags: ['safe'] },
    { ...plain('own_time'), category: 'web', runner: { kind: 'builtin', builtin: 'time' } },
  ],
})

function plain(name: string): ToolDefinition {
  return { type: 'function', function: { name, description: '', parameters: { type: 'object' } } }
}

test.each([
  ['scope=all', ['git_pull', 'git_push', 'own_time', 'web.search']],
  ['scope=none', []],
  ['scope=git_*', ['git_pull', 'git_push']],
  ['scope=web__search', []],
  ['scope=@vcs', ['git_pull', 'git_push']],
  ['scope=@vcs,@none_such&dialect=openai', ['git_pull', 'git_push']],
  ['scope=@vcs,!tag:slow', ['git_pull']],
  ['scope=%40web&scope=*search', ['web.search']],
  ['scope=tag%3Asafe', ['git_pull', 'web.search']],
  ['s%63ope=git_push', ['git_push']],
  ['scope[]=git_push', ['git_push']],
  ['scope%5B%5D=git_*&scope=!git_push', ['git_pull']],
  ['scope=@internal', ['own_time']],
])('?%s lists exactly what is in each of the scopes', async (search, expected) => {
  const listFilter = await resolveListFilter({} as never, ANN, new Query(search, ['scope', 'dialect']))
  expect(shown(filteredView(SCOPED, listFilter))).toEqual(expected.map((name) => `user/${name}`))
})
