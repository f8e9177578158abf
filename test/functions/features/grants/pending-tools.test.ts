import { expect, test } from '@jest/globals'
import { grantsDigest, type Grant, type InvocationResult } from '@toolrack/contract'
import { newJobKeys, parseJobKeys } from '../../../../functions/src/access/job-keys.ts'
import { jobTokenSigner } from '../../../../functions/src/platform/jose/job-tokens.ts'
import { askingModule, askingRunner } from '../../../support/asking-runner.ts'
import { put, tool } from '../../../support/definition-changes.ts'
import { routeService, type Answered, type Asker } from '../../../support/route-service.ts'

const jobKeys = parseJobKeys(newJobKeys())
if (!jobKeys) throw new Error('these are keys')
const below = tool('shadow:it')
const ask = await routeService([below], {
  runner: askingRunner(),
  signJobToken: jobTokenSigner(jobKeys),
  settings: { TOOLRACK_INVOKE_WORKFLOW: 'invoke' },
})

const GRANTS: readonly Grant[] = [
  { kind: 'network', value: 'a.example.com' },
  { kind: 'packages', value: 'pandas>=2' },
]
const DIGEST = grantsDigest(GRANTS)
const ASKS = GRANTS.map(({ kind, value }) => `${kind} ${value}`)

const upload = (name: string, who: Asker = 'ann', query = ''): Promise<Answered> =>
  ask(who, `PUT /tools/modules/${name}${query}`, { body: askingModule(name, ASKS, ['one', 'two']) })
const accept = (name: string): Promise<Answered> =>
  ask('ann', `POST /tools/modules/${name}/grants`, { body: { digest: DIGEST } })
const revoke = (name: string): Promise<Answered> => ask('ann', `DELETE /tools/modules/${name}/grants`)

/** A call of the tool ends so, if it waits for nothing: no runner belongs to this test. */
const WOULD_RUN = 'RUNNER_UNAVAILABLE'

const SENTENCE =
  /^wait:one waits for consent: its module asks for packages pandas>=2; network a\.example\.com; nothing was run\. The user who owns the module accepts them: npm run grants -- accept wait on the machine of an embedded server, or POST \/workflows\/tools\/modules\/wait\/grants with \{"digest":"sha256:[0-9a-f]{64}"\} and a token that may approve\.$/

/** A model learns what is missing, but not how it is accepted. */
const FOR_MODEL =
  'wait:one waits for consent: its module asks for packages pandas>=2; network a.example.com; nothing was run. Only a person can accept this. Tell the user, and do not call the tool again before.'

test('a call of a tool that waits is refused on every way, and says who can accept, and how', async () => {
  await upload('wait')
  const call = { name: 'wait:one', arguments: {} }
  for (const name of ['wait:one', 'wait__one'])
    for (const query of ['', '?dryRun=1']) {
      const { status, body } = await ask('ann', `POST /tools/invoke${query}`, { body: { ...call, name } })
      const failure = body as unknown as Extract<InvocationResult, { resultType: 'failure' }>
      const { code, error, textResultForLlm, meta } = failure
      expect([status, code]).toEqual([403, 'GRANTS_PENDING'])
      expect(error).toMatch(SENTENCE)
      expect(meta.consent).toEqual({ of: 'module', module: 'wait', layer: 'user', grantsDigest: DIGEST })
      expect(textResultForLlm).toBe(FOR_MODEL)
    }
  const simulated = await ask('ann', 'POST /permissions/simulate', { body: call })
  expect(simulated).toMatchObject({ status: 403, code: 'GRANTS_PENDING' })
  const calls = [{ id: 'c1', type: 'function', function: { name: 'wait__one', arguments: '{}' } }]
  const dispatched = await ask('ann', 'POST /tools/dispatch', { body: { tool_calls: calls } })
  expect(dispatched).toMatchObject({
    status: 200,
    body: {
      messages: [{ content: FOR_MODEL }],
      results: [{ result: { code: 'GRANTS_PENDING', meta: { consent: { module: 'wait' } } } }],
    },
  })
  await accept('wait')
  expect((await ask('ann', 'POST /tools/invoke', { body: call })).code).toBe(WOULD_RUN)
  await revoke('wait')
  expect((await ask('ann', 'POST /tools/invoke', { body: call })).code).toBe('GRANTS_PENDING')
})

/** Requests whose answers have all tools that the caller may use. */
const LISTS: readonly (readonly [string, Asker, string, body?: object])[] = [
  ['a list', 'ann', 'GET /tools/list'],
  ['a list of names', 'ann', 'GET /tools/list?names=lists:one,lists:two'],
  ['a list in a dialect', 'ann', 'GET /tools/list?dialect=anthropic'],
  ['a list of items', 'ann', 'GET /tools/list?envelope=items'],
  ['a list within a budget', 'ann', 'GET /tools/list?budget=100000'],
  ['a page', 'ann', 'GET /tools/list?limit=100'],
  ['a search', 'ann', 'GET /tools/list?q=small'],
  ['a list with a scope', 'ann', 'GET /tools/list?scope=@lists'],
  ['a list of loaded tools', 'ann', 'GET /tools/list?with=search&loaded=lists:one'],
  ['the list of a job', 'account', 'GET /tools/list'],
  ['a prompt', 'ann', 'POST /tools/wrap', { targetTokens: 100_000, dialect: 'openai', layers: [] }],
]

test.each(LISTS.map(([what, ...request]) => ({ what, request })))(
  '$what leaves out tools that wait, and has them after the consent',
  async ({ request }) => {
    const [who, path, body] = request
    await upload('lists')
    await revoke('lists')
    const texts = async (): Promise<boolean> =>
      /lists(?::|__)one/.test(
        JSON.stringify((await ask(who, path, body && { body })).body).replaceAll(path, ''),
      )
    expect(await texts()).toBe(false)
    await accept('lists')
    expect(await texts()).toBe(true)
  },
)

const listCounts = (): Promise<Answered> => ask('ann', 'GET /tools/list?names=counts:one,counts:two&tokens=1')

test('the counts of a list do not count tools that wait, and the asked names are left out, not unknown', async () => {
  await upload('counts')
  const before = await listCounts()
  expect(before.headers.get('X-Tools-Tokens')).toMatch(/full=0;/)
  expect(before.headers.get('X-Tools-Left-Out')).toBe('counts:one,counts:two')
  expect(before.headers.get('X-Tools-Unknown')).toBeNull()
  const etag = before.headers.get('ETag')
  await accept('counts')
  const after = await listCounts()
  expect(after.headers.get('X-Tools-Tokens')).toMatch(/full=2;/)
  expect(after.headers.get('X-Tools-Left-Out')).toBeNull()
  expect(after.headers.get('ETag')).not.toBe(etag)
})

test('explain says what the tool waits for', async () => {
  await upload('told')
  const { body } = await ask('ann', 'GET /tools/explain?name=told:one')
  expect(body).toMatchObject({
    visible: false,
    winner: null,
    callable: null,
    hidden: { reason: 'GRANTS_PENDING', grants: GRANTS, grantsDigest: DIGEST },
    layers: [{ layer: 'user', status: 'found', role: 'winner' }, {}, {}],
  })
  expect((body['hidden'] as { message: string }).message).toContain('npm run grants -- accept told')
})

test('a tool that waits wins its name like any other', async () => {
  await ask('ann', 'PUT /tools/modules/shadow', { body: askingModule('shadow', ASKS) })
  expect((await ask('ann', 'GET /tools/list?names=shadow:it')).body).toEqual([])
  expect((await ask('ann', 'POST /tools/invoke', { body: { name: 'shadow:it', arguments: {} } })).code).toBe(
    'GRANTS_PENDING',
  )
  expect((await ask('bob', 'GET /tools/list?names=shadow:it')).body).toHaveLength(1)
})

test('a definition is shown as it is, whether it waits or not, and its digest is the same', async () => {
  await upload('shown')
  const read = async () => (await ask('ann', 'GET /tools/defs/shown:one')).body
  const { definition, digest } = await read()
  expect(definition).not.toHaveProperty('pendingGrants')
  await accept('shown')
  expect(await read()).toMatchObject({ definition, digest })
  const { items } = (await ask('ann', 'GET /tools/defs/shown:one/versions')).body as { items: object[] }
  expect(items).toMatchObject([
    { definition, digest },
    { definition, digest },
  ])
})

test('a session keeps the names of tools that wait again, does not list them, and chooses none that waits', async () => {
  await upload('chosen')
  const choose = (id: string, selection: unknown): Promise<Answered> =>
    ask('ann', `PUT /sessions/${id}`, { body: { selection } })
  const refused = await choose('early', ['chosen:one'])
  expect(refused).toMatchObject({ status: 422, code: 'SELECTION_INVALID' })
  expect(JSON.stringify(refused.body)).toContain('names a tool that waits for consent')
  await accept('chosen')
  await choose('kept', ['chosen:one', 'chosen:two'])
  await ask('ann', 'POST /sessions/kept/messages', { body: {} })
  await revoke('chosen')
  expect((await ask('ann', 'GET /sessions/kept')).body).toMatchObject({
    tools: [{ name: 'chosen:one' }, { name: 'chosen:two' }],
  })
  expect((await ask('ann', 'GET /sessions/kept/tools')).body).toEqual([])
  const call = { body: { name: 'chosen:one', arguments: {} } }
  expect((await ask('ann', 'POST /tools/invoke?session=kept', call)).code).toBe('GRANTS_PENDING')
  await accept('chosen')
  expect((await ask('ann', 'GET /sessions/kept/tools')).body).toHaveLength(2)
})

test('no job token is made for a tool that waits, and a token from before cannot call it', async () => {
  await upload('minted')
  const digest = (await ask('ann', 'GET /tools/defs/minted:one')).body['digest']
  const mint = (): Promise<Answered> =>
    ask('ann', 'POST /jobs/tokens', { body: { workflowId: 'w', tools: [{ name: 'minted:one', digest }] } })
  expect(await mint()).toMatchObject({ status: 403, code: 'GRANTS_PENDING' })
  await accept('minted')
  expect(await mint()).toMatchObject({ status: 201 })
})

test('rules about a tool that waits can be written before the consent', async () => {
  await upload('ruled')
  const rules = { rules: [{ effect: 'deny', tool: 'ruled:*' }] }
  expect((await ask('ann', 'PUT /rules/user/ann', { body: rules })).status).toBe(201)
  await accept('ruled')
  expect((await ask('ann', 'GET /tools/list?category=ruled')).body).toEqual([])
  await ask('ann', 'DELETE /rules/user/ann')
})

test('a definition of a user cannot say that it waits', async () => {
  const sent = { ...JSON.parse(put(tool('own')).text), pendingGrants: DIGEST } as object
  expect(await ask('ann', 'PUT /tools/defs/own', { body: sent })).toMatchObject({ status: 422 })
})
