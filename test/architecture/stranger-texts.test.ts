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

/** Quadratic time would be 256 times as much for a text that is 16 times as long. */
function isLinear(short: () => unknown, long: () => unknown): boolean {
  took(short)
  return took(long) < 80 * Math.max(took(short), 10_000)
}

describe('the steps are no more than a few for each unit of the text and the patterns', () => {
  test.each(rows(COUNTED))('%s of %s', (_name, _path, count) => {
    // Some have one pattern that is longer than most of V8's limits, and some many.
    for (const bad of [...badTexts(60_000), ...badTexts(60_000, 1_240, 195)]) {
      const { steps, length } = count(bad)
      expect([bad.title, steps > 0, steps <= 6 * length]).toEqual([bad.title, true, true])
    }
  })
})

describe('work with a longer text and longer patterns grows with their sum, and not with their product', () => {
  test.each(rows<(bad: BadTexts) => unknown>(COMPARING))('%s of %s', (_name, _path, compare) => {
    const short = new Map(badTexts(4_000, 64, 12).map((bad) => [bad.title, bad]))
    const slow = [...badTexts(64_000), ...badTexts(64_000, 500, 195)].filter((bad) => {
      const before = short.get(bad.title) ?? bad
      return !isLinear(
        () => compare(before),
        () => compare(bad),
      )
    })
    expect(slow.map(({ title }) => title)).toEqual([])
  })
})

describe('a text that is 16 times as long takes no more than linear time', () => {
  test.each(rows<(text: string) => unknown>(READING))('%s of %s', (_name, _path, read) => {
    const short = texts(8_000)
    const slow = texts(128_000).filter(
      (text, at) =>
        !isLinear(
          () => read(short[at] ?? ''),
          () => read(text),
        ),
    )
    expect(slow.map((text) => JSON.stringify(text.slice(0, 80)))).toEqual([])
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
