import { expect, test } from '@jest/globals'
import { dialectRules } from '@toolrack/contract'
import { setImmediate } from 'node:timers/promises'
import { STRETCH_MS } from '../../../../functions/src/loop-turn.ts'
import { dialectAnswer } from '../../../../functions/src/tools/catalog/list-answer.ts'
import {
  DialectFragments,
  FragmentsInTurns,
} from '../../../../functions/src/tools/catalog/dialect-fragments.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'
import { ALL } from '../../../support/list-query.ts'

const WORKFLOWS = { defaultWorkflow: 'flow' }

test('others have a turn while the fragments of a list are made, and each is made once', async () => {
  const view = catalogView({ user: Array.from({ length: 10 }, (_, index) => tool(`t${index}`)) })
  const state = { made: 0, turns: 0, isOver: false }
  class Slow extends DialectFragments {
    override of(...asked: Parameters<DialectFragments['of']>) {
      state.made += 1
      const end = performance.now() + STRETCH_MS + 1
      while (performance.now() < end);
      return super.of(...asked)
    }
  }
  async function others(): Promise<void> {
    for (; !state.isOver; await setImmediate()) state.turns += 1
  }
  const turns = others()
  const gemini = dialectRules('gemini')
  const fragments = new FragmentsInTurns(new Slow())
  const { body } = await fragments.whole(() => dialectAnswer(view, ALL, gemini, WORKFLOWS, fragments))
  state.isOver = true
  await turns
  expect(body).toEqual(dialectAnswer(view, ALL, gemini, WORKFLOWS, new DialectFragments()).body)
  expect(state.made).toBe(10)
  expect(state.turns).toBeGreaterThanOrEqual(9)
})
