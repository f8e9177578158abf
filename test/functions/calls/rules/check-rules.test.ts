import { expect, test } from '@jest/globals'
import { parsedRules, refuseIdleRules } from '../../../../functions/src/calls/rules/check-rules.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'
import { turnsDuring } from '../../../support/turns-during.ts'

test('others have a turn while rules that match nothing are compared with many long names', async () => {
  const view = catalogView({
    user: Array.from({ length: 200 }, (_, index) => tool(`${'a'.repeat(120)}${index}`)),
  })
  const rules = parsedRules({
    rules: Array.from({ length: 200 }, () => ({ effect: 'deny', tool: `*${'a'.repeat(50)}?b*` })),
  })
  const { result, turns } = await turnsDuring(() =>
    refuseIdleRules(rules, view).catch(({ message }: Error) => message),
  )
  expect(result).toContain('(and 199 more, see details)')
  expect(turns).toBeGreaterThan(5)
})
