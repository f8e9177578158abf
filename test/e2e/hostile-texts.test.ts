import { afterAll, expect } from '@jest/globals'
import { filled } from '../support/bad-texts.ts'
import { sharedServerWithRunner } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import { User } from '../support/two-users/user.ts'
import { unsignedTokens } from '../support/two-users/unsigned-tokens.ts'

/** Each list of another user is answered within a few seconds, which is many times what it needs, also on a busy machine. */
const WAIT_MS_MAX = 3_000

const tokens = await unsignedTokens('demo-hostile-texts')
afterAll(async () => tokens[Symbol.asyncDispose]())
const started = sharedServerWithRunner(
  { env: tokens.env },
  { Authorization: `Bearer ${tokens.tokenOf('watcher')}` },
)

/** A tool that prints a text many times. */
const SOURCE = `import sys


def tell(password: object, part: str, times: int) -> str:
    """Prints a text."""
    sys.stdout.write(part * times)
    return "done"


TOOL_SPECS = [{"name": "hostile:tell", "handler": tell}]
`

const numbers = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => String(at).padStart(3, '0'))

/** What a stranger sends: the arguments of the tool above, of which a part is looked for in what it prints. */
const PRINTS = [
  [
    'a secret of line breaks, and line breaks',
    { password: `\na${filled('\n', 16_000)}`, part: '\n', times: 60_000 },
  ],
  ['a secret of periods, and periods', { password: `${filled('ab', 16_000)}c`, part: 'ab', times: 30_000 }],
  [
    'many secrets that differ at their beginning',
    { password: numbers(195).map((number) => `a${number}${filled('a', 1_236)}`), part: 'a', times: 60_000 },
  ],
  [
    'as many that are looked for',
    { password: numbers(195).map((number) => `a${number}${filled('a', 480)}`), part: 'a', times: 60_000 },
  ],
  ['names of secrets', { password: 'none', part: 'password="', times: 6_000 }],
] as const

/** 200 rules, each of which nearly matches everywhere in a long text. */
const RULES = numbers(200).map((number) => ({
  effect: 'deny',
  tool: '*',
  args: { text: `*a${number}${filled('a', 250)}*` },
}))

/** Does some work of one user, and asks for the lists of another one meanwhile. Returns the longest wait, in milliseconds. */
async function longestWaitDuring(work: Promise<unknown>, other: User): Promise<number> {
  const state = { isOver: false }
  const ended = work.finally(() => (state.isOver = true))
  let longestMs = 0
  do {
    const { status, ms } = await other.ask('GET', '/list?names=time')
    expect(status).toBe(200)
    longestMs = Math.max(longestMs, ms)
  } while (!state.isOver)
  await ended
  return longestMs
}

for (const [what, args] of PRINTS)
  withPython(`while a tool prints for ${what}, another user's lists are answered`, async () => {
    const { url } = await started()
    using hostile = new User(url, tokens.tokenOf('hostile'))
    using other = new User(url, tokens.tokenOf('other'))
    expect((await hostile.ask('PUT', '/modules/hostile', SOURCE)).status).toBeLessThan(300)
    const call = async (accept: string): Promise<void> => {
      const answer = await fetch(`${url}/workflows/tools/invoke`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${hostile.token}`, Accept: accept },
        body: JSON.stringify({ name: 'hostile:tell', arguments: args }),
      })
      expect(await answer.text()).toContain('"resultType":"success"')
    }
    const calls = Promise.all(['text/event-stream', 'application/json', 'text/event-stream'].map(call))
    expect(await longestWaitDuring(calls, other)).toBeLessThan(WAIT_MS_MAX)
  })

withPython(
  "while rules are compared with a text that nearly matches, another user's lists are answered",
  async () => {
    const { url } = await started()
    using other = new User(url, tokens.tokenOf('other'))
    const send = async (method: string, path: string, body: object): Promise<unknown> => {
      const headers = { Authorization: `Bearer ${tokens.tokenOf('ruled')}` }
      const answer = await fetch(`${url}/workflows${path}`, { method, headers, body: JSON.stringify(body) })
      expect([path, answer.status < 300]).toEqual([path, true])
      return answer.json()
    }
    await send('PUT', '/sessions/s', { selection: ['ECHO'], agent: 'coder' })
    for (const owner of ['user/ruled', 'session/s', 'agent/coder'])
      await send('PUT', `/rules/${owner}`, { rules: RULES })
    const call = { name: 'ECHO', arguments: { text: filled('a', 65_000) } }
    const asked = Promise.all([
      send('POST', '/tools/invoke?session=s', call),
      send('POST', '/tools/invoke?dryRun=1&session=s', call),
      send('POST', '/permissions/simulate', { ...call, as: { session: 's', agent: 'coder' } }),
    ])
    expect(await longestWaitDuring(asked, other)).toBeLessThan(WAIT_MS_MAX)
    expect((await asked).map((answer) => JSON.stringify(answer).includes('deny'))).toEqual([
      false,
      false,
      false,
    ])
  },
)
