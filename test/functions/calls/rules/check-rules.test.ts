import { expect, test } from '@jest/globals'
import { isToolrackError, type Rule } from '@toolrack/contract'
import { Turns } from '../../../../functions/src/loop-turn.ts'
import { checkedRules } from '../../../../functions/src/calls/rules/check-rules.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'

test('200 rules that match none of many tools are refused with a few suggestions, and other work gets turns', async () => {
  const view = catalogView({ global: Array.from({ length: 2_000 }, (_, at) => tool(`server_tool_${at}`)) })
  const rules = Array.from({ length: 200 }, (_, at): Rule => ({ effect: 'deny', tool: `server_*_tol_${at}` }))
  let turns = 0
  let isOver = false
  const countTurn = (): void => {
    turns += 1
    if (!isOver) setImmediate(countTurn)
  }
  setImmediate(countTurn)
  const error: unknown = await checkedRules({ default: 'allow', rules }, view, new Turns()).catch(
    (thrown: unknown) => thrown,
  )
  isOver = true
  expect(isToolrackError(error) && error.code).toBe('RULE_INVALID')
  const details = isToolrackError(error) ? error.details : []
  expect(details).toHaveLength(200)
  expect(details.filter((detail) => 'suggestion' in detail)).toHaveLength(3)
  expect(turns).toBeGreaterThan(5)
})
