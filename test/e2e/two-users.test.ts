import { afterAll, expect, jest } from '@jest/globals'
import { setTimeout as pause } from 'node:timers/promises'
import { sharedServerWithRunner } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import { ATTACKS } from '../support/two-users/attacks.ts'
import { beside } from '../support/two-users/hostile-process.ts'
import { HonestUser } from '../support/two-users/honest-user.ts'
import type { Asked } from '../support/two-users/honest-user.ts'
import { unsignedTokens } from '../support/two-users/unsigned-tokens.ts'

/** How long the honest user goes on beside each attack, at least one round; a minute when it is run by hand. */
const SECONDS = Number(process.env['TWO_USERS_SECONDS'] ?? 0.5)
jest.setTimeout(240_000 + SECONDS * 1_000)

/**
 * Attacks beside which not every request of the honest user is answered yet: only their lists are asked for. The list only
 * ever gets shorter.
 */
const NOT_YET: ReadonlySet<string> = new Set<string>()

const tokens = await unsignedTokens()
afterAll(async () => tokens[Symbol.asyncDispose]())

/**
 * The embedded server with the users of a cloud, and its runner at work. All attacks meet the same one, so what an attack leaves
 * behind is there for the next.
 */
const started = sharedServerWithRunner(
  { env: tokens.env },
  { Authorization: `Bearer ${tokens.tokenOf('watcher')}` },
)

for (const [index, attack] of ATTACKS.entries()) {
  const isEven = !NOT_YET.has(attack.name)
  const does = isEven ? 'lists, uploads, calls, defines and dispatches' : 'lists'
  withPython(`beside ${attack.name} another user ${does}, and every answer is right`, async () => {
    const server = await started()
    using honest = new HonestUser(server.url, tokens.tokenOf(`honest${index}`))
    expect(wrongOf(await honest.round())).toEqual([])
    const hostile = { url: server.url, token: tokens.tokenOf(`hostile${index}`) }
    const asked = await beside(attack, hostile, async () => {
      // The loops have begun; what they fill is full a moment later.
      await pause(300)
      const endsMs = performance.now() + SECONDS * 1_000
      const all: Asked[] = []
      do all.push(...(isEven ? await honest.round() : [await honest.list()]))
      while (performance.now() < endsMs)
      return all
    })
    expect(wrongOf(asked)).toEqual([])
    expect(server.log).not.toContain('call failed')
  })
}

function wrongOf(asked: readonly Asked[]): string[] {
  return asked
    .filter(({ isRight }) => !isRight)
    .map(({ what, status, text }) => `${what}: ${status} ${text.slice(0, 300)}`)
}
