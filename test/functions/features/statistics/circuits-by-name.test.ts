import { expect, test } from '@jest/globals'
import type { CatalogEntry } from '../../../../functions/src/catalog/views/catalog-entry.ts'
import { circuitsByName } from '../../../../functions/src/features/statistics/circuits-by-name.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'

const view = catalogView({ user: [tool('mine')] })
const listed = { view: () => view }
const asked: string[] = []
const circuits = {
  of(uid: string, { digest }: CatalogEntry) {
    asked.push(`${uid} ${digest}`)
    return { state: 'open' } as const
  },
}
const ann = { kind: 'user', uid: 'ann', isAdmin: false } as const

test('the circuit of a tool is that of its present definition, for the user who asks', async () => {
  const states = await circuitsByName({ listed, circuits }, ann, 'ann')
  expect([states('mine'), states('gone')]).toEqual(['open', null])
  expect(asked).toEqual([`ann ${view.winner('mine')?.digest}`])
  expect((await circuitsByName({ listed, circuits }, ann, ''))('mine')).toBe('open')
})

test('without circuit breakers, and in the statistics of another user, no state is known', async () => {
  expect((await circuitsByName({ listed }, ann, 'ann'))('mine')).toBeNull()
  expect((await circuitsByName({ listed, circuits }, ann, 'bob'))('mine')).toBeNull()
})
