import { expect, test } from '@jest/globals'
import { definitionDigest, type JsonObject, type ToolDefinition } from '@toolrack/contract'
import { APPROVAL_MS, argumentsHash } from '../../../../functions/src/features/approvals/approval.ts'
import { Approvals } from '../../../../functions/src/features/approvals/approvals.ts'
import { askingCall } from './store.contract.ts'
import { tool } from '../../../support/definition-changes.ts'
import { memoryAudit } from '../../../support/memory-audit.ts'
import { featureStores } from '../../../support/feature-stores.ts'
import { memoryGovernance, newSealing } from '../../../support/memory-governance.ts'
import { routeService, type RefusedRow } from '../../../support/route-service.ts'
import { NOW } from '../../../support/signed-tokens.ts'

const ECHO: ToolDefinition = {
  type: 'function',
  function: {
    name: 'echo',
    description: 'Says the text.',
    parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  },
  runner: { kind: 'builtin', builtin: 'echo' },
}
const DIGEST = definitionDigest(ECHO)
const SAID: ToolDefinition = { ...ECHO, function: { ...ECHO.function, name: 'said' } }
const governance = memoryGovernance()
const store = featureStores(governance, () => NOW).approvals
const audit = memoryAudit({ now: () => NOW })
const ask = await routeService([ECHO, SAID, tool('other')], { governance, audit })
const approvals = new Approvals({
  store,
  sealing: governance.sealing,
  now: () => NOW,
})
let count = 0

/** A new approval for a call of a user. */
async function pending(args: JsonObject = { text: `call ${(count += 1)}` }, uid = 'ann'): Promise<string> {
  const bound = { tool: 'echo', digest: DIGEST, argumentsHash: argumentsHash(args), arguments: args }
  return (await approvals.ask(askingCall({ ...bound, uid })))?.id ?? ''
}

test('a user reads an approval with its arguments and the rule that asked', async () => {
  const id = await pending({ text: 'read' })
  const { status, body, headers } = await ask('ann', `GET /approvals/${id}`)
  expect(status).toBe(200)
  expect(headers.get('Cache-Control')).toBe('private, no-store')
  expect(body).toEqual({
    id,
    status: 'pending',
    tool: 'echo',
    digest: DIGEST,
    owner: { kind: 'everybody', id: 'all' },
    rule: 0,
    reason: 'Rule 0 says ask.',
    session: null,
    workflow: null,
    createdAt: new Date(NOW).toISOString(),
    expiresAt: new Date(NOW + 900_000).toISOString(),
    decidedAt: null,
    isEdited: false,
    invocationId: null,
    arguments: { text: 'read' },
  })
})

test('the list has the newest first, in pages, by status and tool, and only those of the user', async () => {
  const ids = [await pending({ a: 1 }, 'bob'), await pending({ a: 2 }, 'bob'), await pending({ a: 3 }, 'bob')]
  await ask('bob', `POST /approvals/${ids[1]}`, { body: { decision: 'deny' } })
  const listed = async (query: string) => {
    const { body, headers } = await ask('bob', `GET /approvals${query}`)
    const next = /<\/workflows(?<path>[^>]+)>; rel="next"/.exec(headers.get('Link') ?? '')?.groups?.['path']
    return { ids: (body['items'] as { id: string }[]).map(({ id }) => id), next }
  }
  const first = await listed('?limit=2&tool=echo')
  expect(first.ids).toEqual([ids[2], ids[1]])
  expect(await listed(String(first.next).slice('/approvals'.length))).toEqual({
    ids: [ids[0]],
    next: undefined,
  })
  expect((await listed('?status=pending')).ids).toEqual([ids[2], ids[0]])
  expect((await listed('?status=denied')).ids).toEqual([ids[1]])
  expect((await listed('?tool=other')).ids).toEqual([])
})

test('the audit trail has what was decided about which tool', async () => {
  for (const body of [
    { decision: 'deny' },
    { decision: 'once', arguments: { text: 'edited' } },
  ] as JsonObject[]) {
    await ask('ann', `POST /approvals/${await pending()}`, { body })
    const [text = ''] = (await audit.page({ uid: 'ann', limit: 1 })).texts
    expect(JSON.parse(text)).toMatchObject({
      kind: 'approval',
      outcome: 'ok',
      tool: 'echo',
      layer: 'file',
      digest: DIGEST,
      revision: expect.any(String),
      decision: body['decision'],
      rule: { owner: expect.any(Object), index: expect.any(Number) },
      arguments: 'arguments' in body ? body['arguments'] : { text: expect.stringMatching(/^call /) },
      argumentsHash: expect.stringMatching(/^sha256:/),
      subject: { isEdited: 'arguments' in body },
    })
  }
  await ask('ann', `DELETE /approvals/${await pending()}`)
  const [cancelled = ''] = (await audit.page({ uid: 'ann', limit: 1 })).texts
  expect(JSON.parse(cancelled)).toMatchObject({ outcome: 'ok', tool: 'echo', decision: 'cancel' })
})

test('a decision is made once, and edited arguments are shown beside those of the call', async () => {
  const id = await pending()
  const edit = { decision: 'once', arguments: { text: 'edited' } }
  const decided = await ask('ann', `POST /approvals/${id}`, { body: edit })
  expect(decided).toMatchObject({ status: 200, body: { id, status: 'approved', isEdited: true } })
  expect((await ask('ann', `POST /approvals/${id}`, { body: edit })).code).toBe('APPROVAL_CONFLICT')
  expect((await ask('ann', `GET /approvals/${id}`)).body).toMatchObject({
    arguments: { text: expect.stringContaining('call') },
    editedArguments: { text: 'edited' },
  })
})

test('an approved call that is made with the id of the approval runs the edited arguments, once', async () => {
  const args = { text: 'as sent' }
  const id = await pending(args)
  const body = { name: 'echo', arguments: args, approval: id }
  expect(await ask('ann', 'POST /tools/invoke', { body })).toMatchObject({
    status: 202,
    code: 'APPROVAL_REQUIRED',
    body: { meta: { approval: { id, expiresAt: expect.any(String) } } },
  })
  await ask('ann', `POST /approvals/${id}`, { body: { decision: 'once', arguments: { text: 'edited' } } })
  const ran = await ask('ann', 'POST /tools/invoke', { body })
  expect(ran).toMatchObject({ status: 200, body: { resultType: 'success', textResultForLlm: 'edited' } })
  expect(await ask('ann', 'POST /tools/invoke', { body })).toMatchObject({
    status: 409,
    code: 'APPROVAL_CONFLICT',
  })
  expect((await ask('ann', `GET /approvals/${id}`)).body).toMatchObject({
    status: 'used',
    invocationId: (ran.body['meta'] as JsonObject)['invocationId'],
  })
})

test('an approval is of no use to another user, to a token that may only call, for other arguments and after its time', async () => {
  const clock = { now: NOW - 2 * APPROVAL_MS }
  const { sealing } = governance
  const earlier = new Approvals({ store, sealing, now: () => clock.now })
  const old = { text: 'long ago' }
  const bound = { tool: 'echo', digest: DIGEST, argumentsHash: argumentsHash(old), arguments: old }
  const expired = (await earlier.ask(askingCall({ ...bound, uid: 'ann' })))?.id ?? ''
  const args = { text: 'for Ann' }
  const id = await pending(args)
  const invoked = async (who: 'ann' | 'bob', approval: string, sent: JsonObject) =>
    (await ask(who, 'POST /tools/invoke', { body: { name: 'echo', arguments: sent, approval } })).code
  for (const who of ['token', 'account'] as const)
    expect((await ask(who, `POST /approvals/${id}`, { body: { decision: 'once' } })).code).toBe(
      'PERMISSION_DENIED',
    )
  await ask('ann', `POST /approvals/${id}`, { body: { decision: 'once' } })
  expect(await invoked('bob', id, args)).toBe('APPROVAL_NOT_FOUND')
  expect(await invoked('ann', id, { text: 'for Eve' })).toBe('APPROVAL_CONFLICT')
  expect(await invoked('ann', expired, old)).toBe('APPROVAL_EXPIRED')
  expect((await ask('ann', `POST /approvals/${expired}`, { body: { decision: 'once' } })).code).toBe(
    'APPROVAL_EXPIRED',
  )
  const changed = { ...ECHO, function: { ...ECHO.function, description: 'Says another text.' } }
  const { status, body } = await ask('admin', 'PUT /tools/defs/echo?layer=global', { body: changed })
  expect([status, body]).toEqual([201, expect.anything()])
  expect(await invoked('ann', id, args)).toBe('APPROVAL_CONFLICT')
  await ask('admin', 'DELETE /tools/defs/echo?layer=global')
  // None of these has used the approval up.
  expect(await invoked('ann', id, args)).toBeUndefined()
  expect(await invoked('ann', id, args)).toBe('APPROVAL_CONFLICT')
})

test('an approval whose arguments were sealed with another key can be denied and cancelled, and not read or approved', async () => {
  const other = new Approvals({ store, sealing: newSealing(), now: () => NOW })
  const args = { text: 'sealed elsewhere' }
  const bound = { tool: 'echo', digest: DIGEST, argumentsHash: argumentsHash(args), arguments: args }
  const id = (await other.ask(askingCall({ ...bound, uid: 'ann' })))?.id ?? ''
  expect((await ask('ann', `GET /approvals/${id}`)).code).toBe('APPROVAL_CONFLICT')
  const decided = async (decision: string): Promise<unknown> =>
    (await ask('ann', `POST /approvals/${id}`, { body: { decision } })).status
  expect([await decided('once'), await decided('deny')]).toEqual([409, 200])
  const second = (await other.ask(askingCall({ ...bound, uid: 'ann' })))?.id ?? ''
  expect((await ask('ann', `DELETE /approvals/${second}`)).status).toBe(204)
})

test('an always whose arguments Firestore has erased is listed, and can be cancelled', async () => {
  const id = await pending({ text: 'erased' }, 'bob')
  await ask('bob', `POST /approvals/${id}`, { body: { decision: 'always' } })
  await store.change('bob', NOW, (known) => ({
    result: undefined,
    change: { approvals: known, dropped: [id] },
  }))
  expect((await ask('bob', 'GET /approvals?status=always')).body).toMatchObject({
    items: [{ id, status: 'always' }],
  })
  const read = await ask('bob', `GET /approvals/${id}`)
  expect([read.status, JSON.stringify(read.body)]).toEqual([409, expect.stringContaining('no longer kept')])
  expect((await ask('bob', `DELETE /approvals/${id}`)).status).toBe(204)
  expect((await ask('bob', 'GET /approvals?status=always')).body).toEqual({ items: [] })
})

test('edited arguments that the tool does not take are refused at once, and the approval stays pending', async () => {
  const id = await pending()
  const refused = await ask('ann', `POST /approvals/${id}`, {
    body: { decision: 'once', arguments: { text: 1 } },
  })
  expect(refused).toMatchObject({ status: 400, code: 'ARGUMENTS_INVALID' })
  expect((await ask('ann', `GET /approvals/${id}`)).body).toMatchObject({ status: 'pending' })
})

test('a pending approval is cancelled, an always is forgotten, and a used one stays', async () => {
  const [cancelled, always, denied] = [await pending(), await pending(), await pending()]
  await ask('ann', `POST /approvals/${always}`, { body: { decision: 'always' } })
  await ask('ann', `POST /approvals/${denied}`, { body: { decision: 'deny' } })
  for (const id of [cancelled, always]) {
    expect((await ask('ann', `DELETE /approvals/${id}`)).status).toBe(204)
    expect((await ask('ann', `GET /approvals/${id}`)).code).toBe('APPROVAL_NOT_FOUND')
  }
  expect((await ask('ann', `DELETE /approvals/${denied}`)).code).toBe('APPROVAL_CONFLICT')
})

test('in dispatch the call is pending; invoke makes it, and complete writes the messages', async () => {
  await ask('bob', 'PUT /rules/user/bob', { body: { rules: [{ effect: 'ask', tool: 'echo' }] } })
  const calls = [
    { type: 'tool_use', id: 'a', name: 'echo', input: { text: 'one' } },
    { type: 'tool_use', id: 'b', name: 'said', input: { text: 'two' } },
  ]
  const { body } = await ask('bob', 'POST /tools/dispatch', { body: calls })
  const [asked] = body['pending'] as { approval: { id: string }; arguments: object }[]
  expect(body).toMatchObject({
    pending: [
      { index: 0, id: 'a', name: 'echo', kind: 'approval', arguments: { text: 'one' }, call: calls[0] },
    ],
    results: [
      { index: 0, result: null },
      { index: 1, result: { resultType: 'success' } },
    ],
  })
  const id = asked?.approval.id ?? ''
  await ask('bob', `POST /approvals/${id}`, { body: { decision: 'once' } })
  const { body: result } = await ask('bob', 'POST /tools/invoke', {
    body: { name: 'echo', arguments: asked?.arguments, approval: id },
  })
  const results = [...(body['results'] as object[]), { index: 0, result }]
  const completed = await ask('bob', 'POST /tools/dispatch/complete', {
    body: { format: 'anthropic', calls, results },
  })
  expect(JSON.stringify(completed.body)).toContain('"content":"one"')
  await ask('bob', 'DELETE /rules/user/bob')
})

const NONE = '11111111-1111-4111-8111-111111111111'
const ONCE = { body: { decision: 'once' } }
const OURS = await pending()

test.each<RefusedRow>([
  ['a request without a valid token', 'nobody', 'GET /approvals', {}, '401 TOKEN_INVALID'],
  ['a list for an account', 'account', 'GET /approvals', {}, '403 PERMISSION_DENIED'],
  ['a list for a job token', 'token', 'GET /approvals', {}, '403 PERMISSION_DENIED'],
  ['a decision of an account', 'account', `POST /approvals/${OURS}`, ONCE, '403 PERMISSION_DENIED'],
  ['a decision of a job token', 'token', `POST /approvals/${OURS}`, ONCE, '403 PERMISSION_DENIED'],
  ['a decision of another user', 'bob', `POST /approvals/${OURS}`, ONCE, '404 APPROVAL_NOT_FOUND'],
  ['a decision of an admin', 'admin', `POST /approvals/${OURS}`, ONCE, '404 APPROVAL_NOT_FOUND'],
  ['an approval that is none', 'ann', `POST /approvals/${NONE}`, ONCE, '404 APPROVAL_NOT_FOUND'],
  ['an id that is none', 'ann', 'GET /approvals/a', {}, '404 APPROVAL_NOT_FOUND'],
  ['an unknown status', 'ann', 'GET /approvals?status=new', {}, '400 PARAMETER_INVALID'],
  ['a cursor that is none', 'ann', 'GET /approvals?cursor=a', {}, '400 PARAMETER_INVALID'],
  ['an unknown parameter', 'ann', 'GET /approvals?a=1', {}, '400 PARAMETER_UNKNOWN'],
  ['no decision', 'ann', `POST /approvals/${OURS}`, { body: {} }, '400 BODY_INVALID'],
  [
    'an unknown decision',
    'ann',
    `POST /approvals/${OURS}`,
    { body: { decision: 'yes' } },
    '400 BODY_INVALID The body at /decision: it must be "once", "session", "always" or "deny".',
  ],
  [
    'an unknown field',
    'ann',
    `POST /approvals/${OURS}`,
    { body: { ...ONCE.body, a: 1 } },
    '400 BODY_INVALID The body takes decision and arguments, and nothing else.',
  ],
  [
    'arguments for always',
    'ann',
    `POST /approvals/${OURS}`,
    { body: { decision: 'always', arguments: {} } },
    '400 BODY_INVALID',
  ],
  [
    'arguments that are no object',
    'ann',
    `POST /approvals/${OURS}`,
    { body: { ...ONCE.body, arguments: [] } },
    '400 ARGUMENTS_INVALID',
  ],
  [
    'a call with an approval that is no text',
    'ann',
    'POST /tools/invoke',
    { body: { name: 'echo', approval: 1 } },
    '400 BODY_INVALID',
  ],
])('%s is refused', async (_what, who, asked, init, expected) => {
  const { status, code, body } = await ask(who, asked, init)
  const said = (body['error'] as { message?: string } | undefined)?.message
  expect(`${status} ${code} ${said}`).toContain(expected)
})
