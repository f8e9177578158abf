import { describe, expect, test } from '@jest/globals'
import { GlobSet, Needles, START, YES } from '@toolrack/contract'
import fc from 'fast-check'
import { GlobAutomaton } from '../../packages/contract/src/rules/glob-automaton.ts'
import { NameGlobs } from '../../packages/contract/src/scopes/name-globs.ts'
import { MarkedAncestors } from '../../packages/contract/src/matching/marked-ancestors.ts'
import { badGlobs, badTexts } from '../support/bad-texts.ts'

const text = (units: readonly string[], maxLength: number, minLength = 0) =>
  fc.array(fc.constantFrom(...units), { minLength, maxLength }).map((parts) => parts.join(''))

/** The longest needle that ends at each place of the text, by its number; -1 for none. */
function endings(needles: Needles, whole: string): readonly number[] {
  let state = START
  return Array.from({ length: whole.length }, (_, at) => {
    state = needles.next(state, whole.charCodeAt(at))
    return needles.endingAt(state)
  })
}

describe('needles', () => {
  const some = fc.uniqueArray(text(['a', 'b', 'c', '\u{1f600}'], 6, 1), { maxLength: 12 })

  test('at each place of a text the longest needle that ends there is found, and the beginning that is open', () => {
    fc.assert(
      fc.property(some, text(['a', 'b', 'c', '\u{1f600}', '\ud83d'], 30), (list, whole) => {
        const needles = new Needles(list)
        const longest = (part: string): number =>
          list.reduce(
            (found, one, at) => (part.endsWith(one) && one.length > (list[found] ?? '').length ? at : found),
            -1,
          )
        let state = START
        for (let end = 1; end <= whole.length; end += 1) {
          state = needles.next(state, whole.charCodeAt(end - 1))
          const part = whole.slice(0, end)
          expect([part, needles.endingAt(state)]).toEqual([part, longest(part)])
          const open = Array.from({ length: end + 1 }, (_, at) => part.slice(at))
          const beginning = open.find((one) => list.some((needle) => needle.startsWith(one)))
          expect([part, needles.open(state)]).toEqual([part, beginning?.length ?? 0])
        }
        for (const [at, one] of list.entries()) expect(needles.endingIn(at)).toBe(longest(one.slice(1)))
      }),
      { numRuns: 1_000 },
    )
  })

  test.each(badTexts(20_000, 1_240, 195))('$title: the steps are linear', ({ text: whole, patterns }) => {
    const list = [...new Set(patterns)]
    const needles = new Needles(list)
    endings(needles, whole)
    const length = whole.length + list.reduce((sum, one) => sum + one.length, 0)
    expect(needles.steps).toBeLessThanOrEqual(2 * length)
    expect(needles.steps).toBeGreaterThanOrEqual(whole.length)
  })
})

test('globs of a scope mean what each of them means alone', () => {
  const globs = fc.array(text(['a', 'b', '*', '*', '?'], 12), { maxLength: 12 })
  fc.assert(
    fc.property(globs, text(['a', 'b', 'c'], 14), (list, name) => {
      const expected = list.flatMap((glob, at) => (new GlobAutomaton(glob, 'name').matches(name) ? [at] : []))
      expect([list, name, new NameGlobs(list).matching(name)]).toEqual([list, name, expected])
    }),
    { numRuns: 2_000 },
  )
})

test('the nearest marked ancestor is the one that a walk to the root finds, while marks come and go', () => {
  const forest = fc.array(fc.nat(), { minLength: 1, maxLength: 80 }).chain((choices) => {
    // Each node has an earlier one as its parent, or none; then the nodes are renamed.
    const parents = choices.map((choice, at) => (choice % (at + 1)) - 1)
    return fc.shuffledSubarray([...parents.keys()], { minLength: parents.length }).map((names) => {
      const renamed = new Int32Array(parents.length)
      for (const [at, parent] of parents.entries())
        renamed[names[at] ?? 0] = parent === -1 ? -1 : (names[parent] ?? 0)
      return renamed
    })
  })
  const changes = fc.array(fc.tuple(fc.boolean(), fc.nat(), fc.nat()), { maxLength: 60 })
  fc.assert(
    fc.property(forest, changes, (parents, each) => {
      const ancestors = new MarkedAncestors(parents)
      const marked = new Set<number>()
      const walk = (node: number): number =>
        node === -1 || marked.has(node) ? node : walk(parents[node] ?? -1)
      for (const [isMarked, changed, asked] of each) {
        const [node, from] = [changed % parents.length, asked % parents.length]
        if (isMarked) marked.add(node)
        else marked.delete(node)
        if (isMarked) ancestors.mark(node)
        else ancestors.unmark(node)
        expect(ancestors.nearest(from)).toBe(walk(from))
        expect(ancestors.above(from)).toBe(walk(parents[from] ?? -1))
      }
    }),
    { numRuns: 1_000 },
  )
})

describe('globs that are compared together', () => {
  test('mean what each of them means alone', () => {
    const units = ['a', 'b', '.', '/', '\u{1f600}']
    const globs = fc.array(text([...units, '*', '*', '**', '?', '\ud83d'], 8), { maxLength: 12 })
    const seen = { yes: 0, no: 0 }
    fc.assert(
      fc.property(
        globs,
        fc.array(text([...units, '\ud83d', '\ude00'], 14), { minLength: 1, maxLength: 3 }),
        fc.constantFrom('name', 'text', 'path'),
        (list, texts, kind) => {
          const set = new GlobSet(list, kind)
          // The same set is asked again: nothing of one text is left for the next.
          for (const one of texts) {
            const found = Array.from(set.answers(one), (answer) => answer === YES)
            const expected = list.map((glob) =>
              kind === 'text' && !glob.includes('?')
                ? matchesInOrder(glob, one)
                : new GlobAutomaton(glob, kind).matches(one),
            )
            if (found.join() !== expected.join())
              throw new Error(JSON.stringify([kind, list, one, found, expected]))
            for (const isFound of found) seen[isFound ? 'yes' : 'no'] += 1
          }
        },
      ),
      { numRuns: 5_000, seed: 4 },
    )
    expect(Math.min(seen.yes, seen.no)).toBeGreaterThan(1_000)
  })

  test.each(badTexts(20_000))('$title: the steps are linear', (bad) => {
    const globs = badGlobs(bad)
    const length = globs.reduce((sum, one) => sum + one.length, 0)
    const names = new GlobSet(globs, 'name')
    names.answers(bad.text.slice(0, 128))
    expect(names.steps).toBeLessThanOrEqual(6 * (length + 128))
    const set = new GlobSet(globs, 'text')
    const answers = set.answers(bad.text)
    expect(set.steps).toBeLessThanOrEqual(6 * (length + bad.text.length))
    expect(Array.from(answers, (answer) => answer === YES)).toEqual(
      globs.map((glob) => matchesInOrder(glob, bad.text)),
    )
  })

  test('a glob with ? of which the steps are not left is not known, and one that another end excludes is', () => {
    const set = new GlobSet(['*?a*?b', '*?a*?a', 'a*'], 'name')
    expect([...set.answers('a'.repeat(100), { left: 99 })]).toEqual([0, 2, 1])
    expect([...set.answers('a'.repeat(100), { left: 100 })]).toEqual([0, 1, 1])
  })
})

/** The meaning of a glob of texts, written down a second time: its literal parts follow each other, as early as possible. */
function matchesInOrder(glob: string, whole: string): boolean {
  const parts = glob.split(/\*+/)
  const [first = '', last = ''] = [parts[0], parts.at(-1)]
  if (parts.length === 1) return glob === whole
  let from = first.length
  for (const part of parts.slice(1, -1)) {
    const found = whole.indexOf(part, from)
    if (found === -1) return false
    from = found + part.length
  }
  return whole.startsWith(first) && whole.endsWith(last) && from + last.length <= whole.length
}
