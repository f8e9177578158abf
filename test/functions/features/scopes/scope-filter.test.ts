import { expect, test } from '@jest/globals'
import { parseScope, type Scope } from '@toolrack/contract'
import { Turns } from '../../../../functions/src/loop-turn.ts'
import { leftIn, scopeFilter } from '../../../../functions/src/features/scopes/scope-filter.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'
import { turnsDuring } from '../../../support/turns-during.ts'

const LONG_NAMES = Array.from({ length: 20_000 }, (_, index) => tool(`${'a'.repeat(120)}${index}`))

test('others have a turn while a hostile scope is compared with many names', async () => {
  const entries = [...catalogView({ user: LONG_NAMES }).entries()]
  const scope = parseScope(Array.from({ length: 50 }, () => '*aaaaaaaaaaaa?bc*').join()) as Scope
  const leavesOut = scopeFilter([{ from: 'hostile', scope }], new Set())
  const { result, turns } = await turnsDuring(() => new Turns().run(leftIn(entries, leavesOut)))
  expect(result).toEqual([])
  expect(turns).toBeGreaterThan(5)
})
