import { expect, test } from '@jest/globals'
import { tokenCounter } from '../../../../functions/src/catalog/tokens/token-counter.ts'
import { HOUR_MS, HourStore } from '../../../../functions/src/features/statistics/hour-store.ts'
import { tool } from '../../../support/definition-changes.ts'
import { inProcess } from '../../../support/in-process.ts'
import { memoryGovernance } from '../../../support/memory-governance.ts'
import { NOW, signed } from '../../../support/signed-tokens.ts'
import { deployedAccess, FIREBASE } from '../../../support/token-kinds.ts'

const TOOLS = [tool('weather:get', 'Tells the weather of a place.'), tool('mail:send', 'Sends a mail.')]
const headers = { Authorization: `Bearer ${signed(FIREBASE, { sub: 'ann' })}` }

test('the tokens of a tool are those that it took in the lists of a user, as they were sent', async () => {
  const count = await tokenCounter()
  const governance = memoryGovernance()
  const access = deployedAccess(() => NOW)
  const parts = { governance: { ...governance, close: () => Promise.resolve() } }
  const expected = new Map<string, { lists: number; tokens: number }>()
  {
    await using service = await inProcess(access, TOOLS, () => NOW, parts)
    const list = (query: string, more = {}) =>
      fetch(`${service.url}/workflows/tools/list${query}`, { headers: { ...headers, ...more } })
    for (const [query, times] of [
      ['', 3],
      ['?dialect=anthropic', 2],
      ['?dialect=anthropic&budget=60', 1],
      ['?name=mail:send', 2],
    ] as const) {
      const first = await list(query)
      const etag = first.headers.get('etag') ?? ''
      for (let again = 1; again < times; again += 1)
        expect((await list(query, { 'If-None-Match': etag })).status).toBe(304)
      for (const item of (await first.json()) as { name?: string; function?: { name: string } }[]) {
        const name = (item.function?.name ?? item.name ?? '').replace('__', ':')
        const { lists, tokens } = expected.get(name) ?? { lists: 0, tokens: 0 }
        const took = tokens + times * count(JSON.stringify(item))
        expected.set(name, { lists: lists + times, tokens: took })
      }
    }
  }
  const [hour] = await new HourStore(governance.documents(() => NOW)).read('ann', [
    Math.floor(NOW / HOUR_MS) * HOUR_MS,
  ])
  const counted = new Map(
    Array.from(hour?.tools ?? [], ([name, { lists, tokens }]) => [name, { lists, tokens }]),
  )
  expect([...counted.keys()].toSorted()).toEqual(['mail:send', 'weather:get'])
  for (const [name, { lists, tokens }] of expected) {
    expect(counted.get(name)?.lists).toBe(lists)
    // The sizes in a list with a budget are those of joined texts, which can differ by a token.
    expect(Math.abs((counted.get(name)?.tokens ?? 0) - tokens)).toBeLessThanOrEqual(lists)
  }
  await governance.close()
})
