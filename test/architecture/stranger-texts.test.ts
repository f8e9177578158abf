import { describe, expect, test } from '@jest/globals'
import { badTexts, filled, repeatedBeginnings, type BadTexts } from '../support/bad-texts.ts'
import { BOUNDED } from '../support/stranger-texts/bounded.ts'
import { COMPARING } from '../support/stranger-texts/comparing.ts'
import { COUNTED } from '../support/stranger-texts/counted.ts'
import { READING } from '../support/stranger-texts/reading.ts'

/** A row for each function: its file, its name, and a call of it. */
function rows<Call>(table: { readonly [path: string]: { readonly [name: string]: Call } }) {
  return Object.entries(table).flatMap(([path, calls]) =>
    Object.entries(calls).map(([name, call]) => [name, path, call] as const),
  )
}

/** The processor time of some work, in microseconds. */
function took(work: () => unknown): number {
  const before = process.cpuUsage().user
  work()
  return process.cpuUsage().user - before
}

/** What takes no more processor time is too short to be compared: it is that of a garbage collection. In microseconds. */
const SHORT = 80_000

/** Quadratic time would be 256 times as much for a text that is 16 times as long. What seems so is measured again. */
function isLinear(short: () => unknown, long: () => unknown): boolean {
  return took(long) < SHORT || [1, 2, 3].some(() => took(long) < Math.max(80 * took(short), SHORT))
}

describe('the steps are no more than a few for each unit of the text and the patterns', () => {
  test.each(rows(COUNTED))('%s of %s', (_name, _path, count) => {
    // Some have one pattern that is longer than most of V8's limits, and some many.
    for (const bad of [...badTexts(20_000), ...badTexts(20_000, 1_240, 195)]) {
      const { steps, length } = count(bad)
      expect([bad.title, steps > 0, steps <= 6 * length]).toEqual([bad.title, true, true])
    }
  })
})

describe('work with a longer text and longer patterns grows with their sum, and not with their product', () => {
  test.each(rows<(bad: BadTexts) => unknown>(COMPARING))('%s of %s', (_name, _path, compare) => {
    const short = new Map(badTexts(2_000, 64, 12).map((bad) => [bad.title, bad]))
    const slow = [...badTexts(32_000), ...badTexts(32_000, 500, 195)].find((bad) => {
      const before = short.get(bad.title) ?? bad
      return !isLinear(
        () => compare(before),
        () => compare(bad),
      )
    })
    expect(slow?.title).toBeUndefined()
  })
})

describe('a text that is 16 times as long takes no more than linear time', () => {
  test.each(rows<(text: string) => unknown>(READING))('%s of %s', (_name, _path, read) => {
    const short = texts(2_500)
    const slow = texts(40_000).find(
      (text, at) =>
        !isLinear(
          () => read(short[at] ?? ''),
          () => read(text),
        ),
    )
    expect(slow?.slice(0, 80)).toBeUndefined()
  })
})

describe('of a text that is longer than its bound nothing more is read', () => {
  test.each(rows(BOUNDED))('%s of %s', (_name, _path, { max, refuses }) => {
    for (const { text } of badTexts(max + 1)) expect(refuses(text)).toBe(true)
    expect(refuses(filled('long words and others ', 512_000))).toBe(true)
    // What is as long as the bound takes no time: the longest that any of them takes would be seen by other users.
    for (const text of repeatedBeginnings(max)) expect(took(() => refuses(text))).toBeLessThan(800_000)
  })
})

function texts(length: number): readonly string[] {
  return [...repeatedBeginnings(length), ...badTexts(length).map(({ text }) => text)]
}
