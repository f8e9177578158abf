import { expect, test } from '@jest/globals'
import { routeFacts } from '../../../../functions/src/http/reference/route-facts.ts'
import { ROWS } from '../../../support/route-table.ts'

const approver = 'whose token may decide approvals'

test.each([
  ['GET /health', [[undefined, ['everybody, also without a token']]]],
  ['GET /tools/list', [[undefined, ['users', 'jobs', 'job tokens']]]],
  ['GET /sessions', [[undefined, ['users', 'jobs']]]],
  ['POST /jobs/tokens', [[undefined, ['users']]]],
  ['GET /audit/verify', [[undefined, ['admins']]]],
  ['POST /approvals/:id', [[undefined, [`users ${approver}`]]]],
  ['DELETE /audit', [[undefined, [`admins ${approver}`]]]],
  [
    'PUT /tools/defs/:name',
    [
      ['`layer=user`', ['users', 'jobs']],
      ['`layer=global`', ['admins']],
    ],
  ],
  [
    'PUT /rules/:kind/:id',
    [
      ['`everybody/all`, `user/ID` of another user', [`admins ${approver}`]],
      ['your own `user/ID`, `workflow/ID`, `session/ID`, `agent/ID`', [`users ${approver}`]],
    ],
  ],
])('who may make a request is found by asking the actions: %s', async (title, expected) => {
  const row = ROWS.find(({ method, path }) => `${method} ${path}` === title)
  if (!row) throw new Error(`no route ${title}`)
  const { allowed } = await routeFacts(row)
  expect(allowed.map((one) => [one.if, one.who])).toEqual(expected)
})

test('only the addresses are named at which somebody may ask', async () => {
  const facts = await Promise.all(ROWS.map(routeFacts))
  const ofUsers = facts.filter(({ allowed }) =>
    allowed.every(({ families }) => families.join() === 'workflows'),
  )
  expect(ofUsers.flatMap(({ addresses }) => addresses).filter((one) => one.startsWith('/jobs/'))).toEqual([])
  expect(facts.every(({ addresses }) => addresses.length > 0)).toBe(true)
})
