import { afterAll, expect, test } from '@jest/globals'
import { DIALECTS } from '@toolrack/contract'
import { setTimeout as pause } from 'node:timers/promises'
import { Server } from '../support/server.ts'
import { besideAll } from '../support/two-users/hostile-process.ts'
import { defineLongNames, LOOP_ATTACKS } from '../support/two-users/loop-attacks.ts'
import { unsignedTokens } from '../support/two-users/unsigned-tokens.ts'
import { User, type Told } from '../support/two-users/user.ts'

/** The longest wait of another user for a list, in milliseconds. It is many times what a list needs. */
const WAIT_MS_MAX = 5_000

const tokens = await unsignedTokens()
const server = await Server.start({ env: tokens.env })
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await tokens[Symbol.asyncDispose]()
})

const listed = ({ text }: Told): number => (JSON.parse(text) as readonly unknown[]).length

test('2,000 definitions with names of 120 characters are listed in every dialect, with and without a budget', async () => {
  using user = new User(server.url, tokens.tokenOf('long'))
  await defineLongNames(user)
  const all = listed(await user.ask('GET', '/list'))
  expect(all).toBeGreaterThanOrEqual(2_000)
  for (const dialect of DIALECTS) {
    const answer = await user.ask('GET', `/list?dialect=${dialect}`)
    expect(answer.status).toBe(200)
    const budgeted = await user.ask('GET', `/list?dialect=${dialect}&budget=20000`)
    expect(budgeted.status).toBe(200)
  }
})

test('a user layer takes 2,000 definitions and refuses the one after with LAYER_FULL', async () => {
  using user = new User(server.url, tokens.tokenOf('full'))
  await defineLongNames(user)
  const note = { description: 'One more.' }
  const { status, text } = await user.ask('PUT', '/defs/note', note)
  expect([status, JSON.parse(text)]).toMatchObject([409, { error: { details: [{ reason: 'LAYER_FULL' }] } }])
  const first = `/defs/${encodeURIComponent('tool:0:'.padEnd(120, 'n'))}`
  expect((await user.ask('PUT', first, note)).status).toBe(200)
  expect((await user.ask('DELETE', first)).status).toBe(200)
  expect((await user.ask('PUT', '/defs/note', note)).status).toBe(201)
})

/** The attacks of other suites are those by texts (`hostile-texts.test.ts`). */
const BY_MANY_TOOLS = LOOP_ATTACKS.filter(({ isByText }) => !isByText)

test.each(BY_MANY_TOOLS)('beside $name, another user gets lists that are not ready', async (attack) => {
  const users = Array.from(
    { length: attack.users },
    (_, at) => `hostile${at}-${LOOP_ATTACKS.indexOf(attack)}`,
  )
  using honest = new User(server.url, tokens.tokenOf('honest'))
  const hostile = { url: server.url, tokens: users.map((uid) => tokens.tokenOf(uid)) }
  await besideAll(attack, hostile, async () => {
    await pause(1_000)
    for (let round = 0; round < 10; round += 1) {
      const note = { description: `Of round ${round}.`, parameters: { type: 'object', properties: {} } }
      expect((await honest.ask('PUT', '/defs/note', note)).status).toBeLessThan(300)
      const { status, text, ms } = await honest.ask('GET', '/list?dialect=anthropic')
      expect(status).toBe(200)
      expect(text).toContain(`Of round ${round}.`)
      expect(ms).toBeLessThan(WAIT_MS_MAX)
    }
  })
})
