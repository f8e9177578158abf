import { expect, test } from '@jest/globals'
import { routeService } from '../../support/route-service.ts'
import { ROWS } from '../../support/route-table.ts'

const ask = await routeService()

/** Paths that exist, or whose route reads the body before it looks for what the path names. */
const PATHS: Readonly<Record<string, string>> = {
  '/scopes/:kind/:id': '/scopes/room/hall',
  '/scopes/:kind/:id/commands': '/scopes/room/hall/commands',
  '/rules/:kind/:id': '/rules/user/ann',
  '/limits/:kind/:id': '/limits/user/ann',
  '/audit': '/audit?uid=ann',
}
/** An approval is looked for before its decision is read. An artifact may have 100 MB. */
const OTHERS = new Set(['POST /approvals/:id', 'POST /artifacts'])

const WRITES = ROWS.filter(({ method, action }) => method !== 'GET' && action !== 'anybody')
  .map(
    ({ method, path }) =>
      [`${method} ${path}`, method, PATHS[path] ?? path.replaceAll(/:\w+/g, 'a')] as const,
  )
  .filter(([title]) => !OTHERS.has(title))

/** The limit, and then a sentence that says what to do. */
const SENTENCES = /^(?:A|The) body [^.]+ may have at most (?:256 KB|1 MB)\. [A-Z][^\n]{15,}\.$/

test.each(WRITES)('%s names the limit of its body and the way out', async (_title, method, path) => {
  const headers = { 'Content-Type': 'application/json' }
  const { status, body } = await ask('admin', `${method} ${path}`, {
    body: 'x'.repeat(1024 * 1024 + 1),
    headers,
  })
  const { error } = body as { readonly error: string | { readonly message: string } }
  expect([status, typeof error === 'string' ? error : error.message]).toEqual([
    413,
    expect.stringMatching(SENTENCES),
  ])
})

test('each of many kinds of bodies has its own way out', async () => {
  const large = 'x'.repeat(1024 * 1024 + 1)
  async function said(request: string, type = 'application/json'): Promise<unknown> {
    const { body } = await ask('ann', request, { body: large, headers: { 'Content-Type': type } })
    const { error } = body as { readonly error: string | { readonly message: string } }
    return typeof error === 'string' ? error : error.message
  }
  expect(await said('POST /tools/invoke')).toMatch(
    /^The body of a call may have at most 256 KB\. Let the tool/,
  )
  expect(await said('POST /tools/dispatch')).toMatch(/at most 1 MB\. Send some of the calls at a time\./)
  expect(await said('PUT /tools/defs/a')).toMatch(
    /at most 256 KB\..* POST …\/tools\/defs, which takes 1 MB\./,
  )
  expect(await said('POST /tools/defs')).toMatch(/at most 1 MB\. Send them in several requests\./)
  expect(await said('PUT /tools/modules/a', 'text/x-python')).toMatch(
    /at most 256 KB\. Split it into several files/,
  )
  expect(await said('PUT /tools/modules/a')).toMatch(/at most 1 MB\. Its files may have 512 KB together/)
})
