import { expect, test } from '@jest/globals'
import { dialectRules } from '@toolrack/contract'
import { atOnce, STRETCH_MS, Turns } from '../../../../functions/src/loop-turn.ts'
import { DialectFragments } from '../../../../functions/src/catalog/views/dialect-fragments.ts'
import { dialectAnswer } from '../../../../functions/src/catalog/views/list-answer.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'
import { ALL } from '../../../support/list-query.ts'
import { turnsDuring } from '../../../support/turns-during.ts'

const WORKFLOWS = { defaultWorkflow: 'flow' }

test('others have a turn while the fragments of a list are made, and each is made once', async () => {
  const view = catalogView({ user: Array.from({ length: 10 }, (_, index) => tool(`t${index}`)) })
  let made = 0
  class Slow extends DialectFragments {
    override of(...asked: Parameters<DialectFragments['of']>) {
      made += 1
      const end = performance.now() + STRETCH_MS + 1
      while (performance.now() < end);
      return super.of(...asked)
    }
  }
  const gemini = dialectRules('gemini')
  const { result, turns } = await turnsDuring(() =>
    new Turns().run(dialectAnswer(view, ALL, gemini, WORKFLOWS, new Slow())),
  )
  const expected = atOnce(dialectAnswer(view, ALL, gemini, WORKFLOWS, new DialectFragments()))
  expect(result).toEqual(expected)
  expect(made).toBe(10)
  expect(turns).toBeGreaterThanOrEqual(9)
})
