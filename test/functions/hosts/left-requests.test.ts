import { afterAll, afterEach, expect, jest, test } from '@jest/globals'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { STRETCH_MS } from '../../../functions/src/loop-turn.ts'
import { CatalogView } from '../../../functions/src/catalog/views/catalog-view.ts'
import { LevelFragments } from '../../../functions/src/catalog/views/level-fragments.ts'
import { tool } from '../../support/definition-changes.ts'
import { inProcess } from '../../support/in-process.ts'
import { until } from '../../support/until.ts'

/** Longer than the service may work without a turn. */
const CHECK_MS = STRETCH_MS + 1
const TOOLS = Array.from({ length: 200 }, (_, at) =>
  tool(`tool:${at}:${'n'.repeat(100)}`, `Works, ${at} times.`),
)
const service = await inProcess(
  {
    authenticate: ({ authorization }) => ({
      kind: 'user',
      uid: authorization ?? 'nobody',
      isAdmin: false,
      mayApprove: true,
    }),
    signJobToken: undefined,
  },
  TOOLS,
)
afterAll(() => service[Symbol.asyncDispose]())
afterEach(() => {
  jest.restoreAllMocks()
})

const RULES = {
  default: 'allow',
  rules: Array.from({ length: 10 }, () => ({ effect: 'deny', tool: '*nothing' })),
}

/** Makes each check of a tool long, so that a turn follows it, and counts the checks from now on. */
function slowChecks(): { readonly count: () => number; readonly reach: (count: number) => Promise<void> } {
  let count = 0
  function check(): void {
    count += 1
    const end = performance.now() + CHECK_MS
    while (performance.now() < end);
  }
  const shows = Reflect.get(CatalogView.prototype, 'shows')
  jest.spyOn(CatalogView.prototype, 'shows').mockImplementation(function (this: CatalogView, entry) {
    check()
    return shows.call(this, entry)
  })
  const of = Reflect.get(LevelFragments.prototype, 'of')
  jest.spyOn(LevelFragments.prototype, 'of').mockImplementation(function (this: LevelFragments, ...given) {
    check()
    return of.apply(this, given)
  })
  async function reach(wanted: number): Promise<void> {
    await until(
      () => Promise.resolve(count),
      (reached) => reached >= wanted,
    )
  }
  return { count: () => count, reach }
}

test.each([
  ['GET /tools/list', undefined],
  ['GET /tools/list?dialect=anthropic', undefined],
  ['GET /tools/list?scope=tool:*,nothing', undefined],
  ['GET /tools/list?dialect=gemini&budget=2000', undefined],
  ['GET /tools/list?q=works', undefined],
  [`GET /tools/explain?name=${TOOLS[0]?.function.name}&budget=300`, undefined],
  ['POST /tools/wrap', { targetTokens: 4_000, dialect: 'openai', layers: [] }],
  ['PUT /scopes/room/r', { scope: 'tool:*,nothing' }],
  ['POST /scopes/room/r/commands', { text: '/tools' }],
  ['PUT /rules/user/ann', RULES],
])('%s ends soon when its caller leaves', async (request, body) => {
  const [method = '', path = ''] = request.split(' ')
  const caller = new AbortController()
  const checks = slowChecks()
  const asked = fetch(`${service.url}/workflows${path}`, {
    method,
    body: body === undefined ? null : JSON.stringify(body),
    headers: { Authorization: 'ann' },
    signal: caller.signal,
  })
  const left = expect(asked).rejects.toThrow()
  await checks.reach(5)
  caller.abort()
  await left
  // The service has noticed it when nothing is checked any more.
  let before = -1
  for (let still = 0; still < 100; still += 1) {
    await nextTurn()
    if (checks.count() !== before) still = 0
    before = checks.count()
  }
  expect(before).toBeLessThan(TOOLS.length / 2)
})

test('a list for which two callers wait is made once, and one of them may leave', async () => {
  const caller = new AbortController()
  const checks = slowChecks()
  const address = `${service.url}/workflows/tools/list?dialect=openai`
  const headers = { Authorization: 'bob' }
  const leaving = expect(fetch(address, { headers, signal: caller.signal })).rejects.toThrow()
  await checks.reach(5)
  const staying = fetch(address, { headers })
  await checks.reach(60)
  caller.abort()
  await leaving
  expect((await staying).status).toBe(200)
  expect(checks.count()).toBe(TOOLS.length)
})
