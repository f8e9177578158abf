import { expect, test } from '@jest/globals'
import { composeWrap, guideText, modelProfile } from '@toolrack/contract'
import type { GuidedTool, WrapLayer } from '@toolrack/contract'
import fc from 'fast-check'
import { tokenCounter } from '../../functions/src/catalog/tokens/token-counter.ts'
import { vectors } from '../support/vectors.ts'

type Asked = {
  readonly targetTokens: number
  readonly toolsTokens?: number
  readonly layers: readonly WrapLayer[]
}
type Expected = { readonly text: string; readonly layers: readonly string[] }

const words = (text: string): number => text.match(/\S+/g)?.length ?? 0
const oneTool = (room: number) =>
  room < 3
    ? { tools: [], tokens: 0, outcome: 'dropped' as const }
    : { tools: ['tool'], tokens: 3, outcome: 'whole' as const }
const count = await tokenCounter()

test.each(vectors<Asked, Expected>('wrap'))('wrap: $title', async ({ input, expected }) => {
  const { text, bill } = await composeWrap({ ...input, fitTools: oneTool, count: words })
  const layers = bill.layers.map(({ name, tokens, outcome }) => `${name} ${tokens} ${outcome}`)
  expect({ text, layers }).toEqual(expected)
})

test.each(vectors<readonly GuidedTool[], string | null>('wrap', 'guides'))(
  'guide: $title',
  ({ input, expected }) => expect(guideText(input) ?? null).toBe(expected),
)

test.each(vectors<string, string | null>('wrap', 'profiles'))('profile of $input', ({ input, expected }) => {
  const found = modelProfile(input)
  expect(found ? `${found.dialect} ${found.toolsMax} ${found.defers}` : null).toBe(expected)
})

/** Texts of words, marks, ends of lines and other scripts, as they meet at the joins. */
const PIECES = [
  'One',
  ' two',
  ' three',
  '. ',
  '? ',
  '!',
  '\n',
  '\r\n',
  '\n\n',
  '/',
  '//',
  ' /x',
  "'s",
  '...',
  '…',
  '"',
  '}',
  ')',
  '9',
  '007',
  ' 3',
  '的',
  '。',
  '你好',
  '😀',
  '👩‍🚀',
  'é',
  'é',
  '\t',
  ' ',
  '\u3000',
  '-',
  '<|end|>',
]
const piece = fc.constantFrom(...PIECES)
const text = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(''))
const layer = fc.record({ text, priority: fc.integer({ min: 0, max: 99 }) })
const layersOf = (all: readonly { text: string; priority: number }[]): WrapLayer[] =>
  all.map((one, index) => ({ name: `layer${index}`, ...one }))

test('the bill is what the encoder counts in the text, and never more than the target', async () => {
  const property = fc.asyncProperty(
    fc.array(layer, { maxLength: 8 }),
    fc.integer({ min: 0, max: 200 }),
    async (all, targetTokens) => {
      const wrap = await composeWrap({ layers: layersOf(all), targetTokens, fitTools: oneTool, count })
      const ofTools = wrap.tools.length > 0 ? 3 : 0
      expect(wrap.bill.total).toBe(count(wrap.text) + ofTools)
      expect(wrap.bill.total).toBeLessThanOrEqual(targetTokens)
      expect(wrap.text.isWellFormed()).toBe(true)
      expect(wrap.bill.layers).toHaveLength(all.length + 1)
    },
  )
  await fc.assert(property, { numRuns: 2_000 })
})

test('the system text and the context are the parts of the text, and take no more than it', async () => {
  const property = fc.asyncProperty(
    fc.array(layer, { maxLength: 6 }),
    text,
    fc.integer({ min: 0, max: 200 }),
    async (all, systemText, targetTokens) => {
      const layers = [{ name: 'system', text: systemText, priority: 0 }, ...layersOf(all)]
      const others = layers.map((one) => ({ ...one, priority: one.name === 'system' ? 0 : one.priority + 1 }))
      const wrap = await composeWrap({ layers: others, targetTokens, fitTools: oneTool, count })
      expect(wrap.text.startsWith(wrap.system)).toBe(true)
      expect(wrap.text.endsWith(wrap.context)).toBe(true)
      expect(wrap.text.slice(wrap.system.length, wrap.text.length - wrap.context.length).trim()).toBe('')
      expect(systemText.trim().startsWith(wrap.system)).toBe(true)
      expect(count(wrap.system) + count(wrap.context)).toBeLessThanOrEqual(count(wrap.text))
    },
  )
  await fc.assert(property, { numRuns: 500 })
})

test('a larger target never shows less of a layer that stands before the tools', async () => {
  const property = fc.asyncProperty(
    fc.array(layer, { maxLength: 6 }),
    fc.nat(100),
    fc.nat(100),
    async (all, a, b) => {
      const layers = layersOf(all).map((one) => ({ ...one, priority: one.priority % 50 }))
      const at = (targetTokens: number) => composeWrap({ layers, targetTokens, fitTools: oneTool, count })
      const [smaller, larger] = [await at(Math.min(a, b)), await at(Math.max(a, b))]
      expect(larger.text.startsWith(smaller.text)).toBe(true)
    },
  )
  await fc.assert(property, { numRuns: 300 })
})

test('a long text is cut with few counts, and nothing takes quadratic time', async () => {
  let counts = 0
  const counting = (counted: string): number => {
    counts += 1
    return words(counted)
  }
  const sentences = 'A short one. Then a sentence that is a good deal longer than the other! '.repeat(10_000)
  const blanks = `a${' '.repeat(500_000)}b${'\n'.repeat(400_000)}c`
  for (const one of [sentences, blanks]) {
    const layers = [{ name: 'long', text: one, priority: 1 }]
    const wrap = await composeWrap({ layers, targetTokens: 2, fitTools: oneTool, count: counting })
    expect(wrap.bill.total).toBeLessThanOrEqual(2)
  }
  const layers = [{ name: 'long', text: sentences, priority: 1 }]
  counts = 0
  const wrap = await composeWrap({ layers, targetTokens: 40_000, fitTools: oneTool, count: counting })
  expect(wrap.bill.total).toBeGreaterThan(39_980)
  expect(counts).toBeLessThan(20)
})
