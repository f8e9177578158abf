import { expect, test } from '@jest/globals'
import type { Rule, RuleSet } from '@toolrack/contract'
import { markedText, marksAfter } from '../../../../functions/src/features/rules/rule-marks.ts'

const ASK: Rule = { effect: 'ask', tool: 'a' }
const OTHER: Rule = { effect: 'ask', tool: 'b' }
const DENY: Rule = { effect: 'deny', tool: 'a' }

function setOf(...rules: readonly Rule[]): RuleSet {
  return { default: 'allow', rules }
}

/** The set with its marks after it has replaced another. */
function after(before: Parameters<typeof marksAfter>[0], set: RuleSet) {
  return { set, marks: marksAfter(before, set) }
}

test('only rules and defaults that ask have marks', () => {
  expect(marksAfter(undefined, setOf(DENY))).toBeUndefined()
  const marks = marksAfter(undefined, { default: 'ask', rules: [DENY, ASK] })
  expect(Object.keys(marks ?? {})).toEqual(['1', 'default'])
})

test('a rule keeps its mark at another place, and gets another one after it was gone', () => {
  const first = after(undefined, setOf(ASK))
  const moved = after(first, setOf(DENY, OTHER, { tool: 'a', effect: 'ask' }))
  expect(moved.marks?.[2]).toBe(first.marks?.[0])
  expect(moved.marks?.[1]).not.toBe(first.marks?.[0])
  const without = after(moved, setOf(OTHER))
  expect(without.marks?.[0]).toBe(moved.marks?.[1])
  const again = after(without, setOf(ASK))
  expect(again.marks?.[0]).toMatch(/^[\w-]{12}$/)
  expect(again.marks?.[0]).not.toBe(first.marks?.[0])
})

test('a rule from before there were marks has none until it is written anew', () => {
  const older = { set: setOf(ASK) }
  const kept = after(older, setOf(ASK, OTHER))
  expect(Object.keys(kept.marks ?? {})).toEqual(['1'])
  expect(markedText(kept.marks, 0, 'text')).toBe('text')
  const again = after(after(kept, setOf(OTHER)), setOf(ASK))
  expect(markedText(again.marks, 0, 'text')).toBe(`${again.marks?.[0]} text`)
  expect(again.marks?.[0]).toBeDefined()
})
