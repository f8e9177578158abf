import { expect, test } from '@jest/globals'
import { formatScope, inScope, parseScope, scopeFaultText } from '@toolrack/contract'
import type { Scope, ScopeFault, ToolInScope } from '@toolrack/contract'
import fc from 'fast-check'
import { vectors } from '../support/vectors.ts'

type Expected = { readonly canonical: string } | { readonly position: number; readonly hint: string }

const TOOLS: readonly ToolInScope[] = [
  { name: 'echo', tags: [], internal: true },
  { name: 'git_pull', category: 'git', tags: ['safe', 'slow'], internal: false },
  // A category of this name is not the group of the tools that the service runs itself.
  { name: 'git_push', category: 'internal', tags: ['slow'], internal: false },
  { name: 'web.search', category: 'web', tags: ['safe'], internal: false },
  { name: 'web_fetch', category: 'web', tags: [], internal: false },
]

const namesIn = (scope: Scope): readonly string[] =>
  TOOLS.filter((tool) => inScope(scope, tool)).map(({ name }) => name)

function parsed(text: string): Scope {
  const scope = parseScope(text)
  if ('fault' in scope) throw new Error(`${text}: ${scopeFaultText(scope)}`)
  return scope
}

test.each(vectors<string, Expected>('scopes'))('scope: $title', ({ input, expected }) => {
  const scope = parseScope(input)
  if ('canonical' in expected) {
    expect('fault' in scope ? scopeFaultText(scope) : formatScope(scope)).toBe(expected.canonical)
    return
  }
  expect(scope).toMatchObject({ position: expected.position, hint: expect.stringContaining(expected.hint) })
  expect(scopeFaultText(scope as ScopeFault)).toContain(`at character ${expected.position + 1}`)
})

test.each(vectors<string, readonly string[]>('scopes', 'tools'))(
  'tools in a scope: $title',
  ({ input, expected }) => expect(namesIn(parsed(input))).toEqual(expected),
)

test.each([
  ['1,001 characters', 'a'.repeat(1_001), 1_000],
  ['51 items', Array.from({ length: 51 }, (_, n) => `a${n}`).join(), 50 * 3 + 40],
  ['a glob of 257 characters', `a,${'b'.repeat(257)}`, 2],
  ['a tag of 65 characters', `tag:${'b'.repeat(65)}`, 4],
])('a scope with %s is refused with its place', (_, text, position) => {
  expect(parseScope(text)).toMatchObject({ fault: expect.stringMatching(/\d/), position })
})

test('a scope of 50 items and 1,000 characters is read', () => {
  expect(parsed(Array.from({ length: 50 }, (_, n) => `a${n}`).join())).toMatchObject({ kind: 'items' })
  expect(parsed(Array(4).fill('b'.repeat(249)).join(',').padEnd(1_000))).toMatchObject({ kind: 'items' })
})

/** Items of all kinds, with names that are near those of the tools. */
const item = fc
  .tuple(
    fc.constantFrom('', '!', '! '),
    fc.oneof(
      fc.stringMatching(/^[abegit_*?.]{1,8}$/),
      fc.constantFrom('git_*', '*', 'web?fetch', '@web', '@internal', '@git', 'tag:safe', 'tag:slow', 'echo'),
    ),
  )
  .map((parts) => parts.join(''))
const items = fc.array(item, { minLength: 1, maxLength: 8 })

test('the canonical text is the same scope, whatever the order, the blanks and the repetitions are', () => {
  fc.assert(
    fc.property(items, fc.nat(), (texts, cut) => {
      const scope = parsed(texts.join(','))
      const at = cut % texts.length
      const turned = [...texts.slice(at), ...texts.slice(0, at), ...texts.slice(0, 1)]
      expect(formatScope(parsed(turned.join(' , ')))).toBe(formatScope(scope))
      expect(formatScope(parsed(formatScope(scope)))).toBe(formatScope(scope))
      expect(namesIn(parsed(formatScope(scope)))).toEqual(namesIn(scope))
    }),
  )
})

test('an item more only widens if it includes, and only narrows if it excludes', () => {
  fc.assert(
    fc.property(items, item, (texts, more) => {
      const includes = texts.some((text) => !text.startsWith('!'))
      const before = namesIn(parsed(texts.join()))
      const after = namesIn(parsed([...texts, more].join()))
      if (more.startsWith('!')) expect(before).toEqual(expect.arrayContaining([...after]))
      else if (includes) expect(after).toEqual(expect.arrayContaining([...before]))
    }),
  )
})

test('any text at all gives a scope or a fault inside the text, which never repeats the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
      const scope = parseScope(text)
      if (!('fault' in scope)) return expect(formatScope(scope).length).toBeLessThanOrEqual(text.length)
      expect(scope.position).toBeGreaterThanOrEqual(0)
      expect(scope.position).toBeLessThanOrEqual(text.length)
    }),
  )
  for (const text of ['SECRET one', '@SEC*RET', '!!SECRET', 'all,SECRET', 'tag:SEC?RET', '["SECRET"]'])
    expect(scopeFaultText(parseScope(text) as ScopeFault)).not.toContain('SECRET')
})
