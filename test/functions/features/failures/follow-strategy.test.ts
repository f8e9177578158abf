import { afterEach, expect, test } from '@jest/globals'
import { definitionDigest } from '@toolrack/contract'
import type { ErrorCode, JsonObject, OnFailure, ToolDefinition } from '@toolrack/contract'
import { BACKOFFS_PER_USER_MAX } from '../../../../functions/src/features/failures/backoffs.ts'
import { grantOf } from '../../../../functions/src/access/principal.ts'
import type { ServiceParts } from '../../../../functions/src/hosts/services.ts'
import type {
  RunnerCall,
  RunnerFailure,
  RunnerOutcome,
} from '../../../../functions/src/catalog/definitions/runner.ts'
import { JsonText } from '../../../../functions/src/json/json-text.ts'
import { ArtifactFiles } from '../../../../functions/src/stores/files/artifact-files.ts'
import { tool } from '../../../support/definition-changes.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { memoryAudit } from '../../../support/memory-audit.ts'
import { memoryStores } from '../../../support/memory-governance.ts'
import { keyedCalls, RAN } from '../../../support/once.ts'
import { readingRunner } from '../../../support/reading-runner.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { until } from '../../../support/until.ts'
import { openRouteService, type Answered } from '../../../support/route-service.ts'

/** What the runner answers to the calls of a tool, one after the other. The last one is the answer to all later calls. */
type Script = Readonly<Record<string, readonly (RunnerOutcome | ((call: RunnerCall) => RunnerOutcome))[]>>

/** The answer of a tool that has run and failed. */
function ran(code: ErrorCode, more: Partial<RunnerFailure> = {}): RunnerFailure {
  const { isolation, usage, log } = RAN
  return { code, error: `It ended with ${code}.`, isolation, usage, log: { ...log, text: '' }, ...more }
}

/** The answer of a runner that has not run the tool. */
function notRun(code: ErrorCode): RunnerFailure {
  return { code, error: `Nothing was run: ${code}.` }
}

const OK = { ...RAN, log: { text: '', truncated: false } }
const AT_ONCE = { times: 2, backoffMs: 0 }

type Fields = Partial<Omit<ToolDefinition, 'function'>> & { readonly parameters?: JsonObject }

function python(name: string, { parameters, ...fields }: Fields = {}): ToolDefinition {
  const properties = { city: { type: 'string' }, days: { type: 'integer' } }
  const described = tool(name, `Does ${name}.`)
  return {
    ...described,
    function: { ...described.function, parameters: parameters ?? { type: 'object', properties } },
    runner: { kind: 'python', module: name.split(':')[0] ?? name, sha256: 'a'.repeat(64) },
    ...fields,
  }
}

function failing(onFailure: OnFailure, more: Fields = {}): ToolDefinition {
  return python('a:main', { onFailure, ...more })
}

const TWICE = { annotations: { idempotentHint: true } }

const opened: (() => Promise<void>)[] = []
afterEach(() => Promise.all(opened.splice(0).map((close) => close())))

/** A service with these tools in its file layer, whose runner answers as the script says. */
async function service(tools: readonly ToolDefinition[], script: Script, parts: Partial<ServiceParts> = {}) {
  const left = new Map(Object.entries(script).map(([name, answers]) => [name, [...answers]]))
  const calls: RunnerCall[] = []
  const audit = memoryAudit()
  const granted = tools.slice(0, 1).map((one) => ({ name: one.function.name, digest: definitionDigest(one) }))
  const { ask, close } = await openRouteService(
    tools,
    {
      audit,
      runner: {
        ...readingRunner(),
        invoke: (call) => {
          calls.push(call)
          const answers = left.get(call.tool) ?? [OK]
          const next = answers.length > 1 ? answers.shift() : answers[0]
          return Promise.resolve(typeof next === 'function' ? next(call) : (next ?? OK))
        },
      },
      ...parts,
    },
    granted,
  )
  opened.push(close)
  function invoke(args: JsonObject = {}, more: object = {}, headers = {}, query = ''): Promise<Answered> {
    const body = { name: 'a:main', arguments: args, ...more }
    return ask('ann', `POST /tools/invoke${query}`, { body, headers })
  }
  const names = (): string[] => calls.map((call) => call.tool)
  return { ask, invoke, calls, names, audit }
}

const meta = ({ body }: Answered) => body['meta'] as Record<string, unknown>

test('a tool that may run twice is called again, and its success is the answer', async () => {
  const { invoke, names } = await service([failing({ retry: AT_ONCE }, TWICE)], {
    'a:main': [ran('TOOL_RAISED'), ran('WORKER_DIED'), OK],
  })
  const answer = await invoke()
  expect(answer).toMatchObject({ status: 200, body: { resultType: 'success' } })
  expect(meta(answer)).toMatchObject({ tool: 'a:main', attempts: 3 })
  expect(meta(answer)).not.toHaveProperty('fallbackFor')
  expect(names()).toEqual(['a:main', 'a:main', 'a:main'])
})

test('a tool that has run and does not say that it may run twice is never called again', async () => {
  const codes: readonly ErrorCode[] = ['TOOL_RAISED', 'WORKER_DIED', 'DEADLINE_EXCEEDED', 'MEMORY_LIMIT']
  for (const code of codes) {
    const { invoke, names } = await service([failing({ retry: AT_ONCE })], { 'a:main': [ran(code)] })
    expect(await invoke()).toMatchObject({ code })
    expect(names()).toEqual(['a:main'])
  }
})

test('a tool that was certainly not run is called again until it has run, and then no more', async () => {
  const { invoke, names } = await service([failing({ retry: { times: 5, backoffMs: 0 } })], {
    'a:main': [notRun('RUNNER_UNAVAILABLE'), ran('TOOL_RAISED'), OK],
  })
  const answer = await invoke()
  expect(answer).toMatchObject({ code: 'TOOL_RAISED' })
  expect(meta(answer)).toMatchObject({ attempts: 2 })
  expect(names()).toEqual(['a:main', 'a:main'])
})

test.each<ErrorCode>(['ARGUMENTS_INVALID', 'RUNNER_BUSY', 'ISOLATION_UNAVAILABLE', 'TOOL_NOT_FOUND'])(
  '%s is no failure of the tool: nothing is done about it',
  async (code) => {
    const onFailure = { retry: AT_ONCE, fallbackTools: [{ name: 'b:alt' }], ask: true, degraded: true }
    const { invoke, names } = await service([failing(onFailure, TWICE), python('b:alt')], {
      'a:main': [notRun(code)],
    })
    expect(await invoke()).toMatchObject({ code })
    expect(names()).toEqual(['a:main'])
  },
)

test('each kind of failure has its own strategy, and the general one counts where it says nothing', async () => {
  const onFailure: OnFailure = {
    fallbackTools: [{ name: 'b:generic' }],
    timeout: { fallbackTools: [{ name: 'b:timeout' }] },
    permission: { fallbackTools: [{ name: 'b:permission' }] },
    network: { retry: AT_ONCE },
  }
  const others = ['generic', 'timeout', 'permission'].map((kind) => python(`b:${kind}`))
  const rows: readonly (readonly [RunnerFailure, readonly string[]])[] = [
    [ran('DEADLINE_EXCEEDED'), ['b:timeout']],
    [ran('TOOL_RAISED', { kind: 'timeout' }), ['b:timeout']],
    [ran('TOOL_RAISED', { kind: 'permission' }), ['b:permission']],
    [ran('TOOL_RAISED', { kind: 'network' }), ['a:main', 'a:main', 'b:generic']],
    [notRun('RUNNER_UNAVAILABLE'), ['a:main', 'a:main', 'b:generic']],
    [ran('TOOL_RAISED'), ['b:generic']],
    [ran('MEMORY_LIMIT'), ['b:generic']],
  ]
  for (const [failure, expected] of rows) {
    const { invoke, names } = await service([failing(onFailure, TWICE), ...others], { 'a:main': [failure] })
    expect((await invoke()).body).toMatchObject({ resultType: 'success' })
    expect(names().slice(1)).toEqual(expected)
  }
})

test('the long text of a fallback is cut for a model, like that of any other call', async () => {
  using folder = temporaryFolder()
  const long = { ...OK, json: JSON.stringify('x'.repeat(40_000)) }
  const { ask, invoke } = await service(
    [failing({ fallbackTools: [{ name: 'b:alt' }] }), python('b:alt')],
    { 'a:main': [ran('TOOL_RAISED')], 'b:alt': [long] },
    { artifactBytes: new ArtifactFiles(folder.path) },
  )
  const call = { type: 'function', id: 'c1', function: { name: 'a__main', arguments: '{}' } }
  const { body } = await ask('ann', 'POST /tools/dispatch', { body: { tool_calls: [call] } })
  const [answered] = body['results'] as readonly [{ readonly result: JsonObject }]
  expect((answered.result['textResultForLlm'] as string).length).toBeLessThan(33_000)
  expect(answered.result['meta']).toMatchObject({ fallbackFor: 'a:main', artifact: expect.any(String) })
  expect((await invoke()).body['textResultForLlm']).toBe(long.json)
})

test('a retry may take longer, by the factor of the strategy', async () => {
  const retry = { times: 2, backoffMs: 0, timeoutFactor: 3 }
  const limits = { timeoutSeconds: 20 }
  const { invoke, calls } = await service([failing({ timeout: { retry } }, { ...TWICE, limits })], {
    'a:main': [ran('DEADLINE_EXCEEDED'), ran('DEADLINE_EXCEEDED'), OK],
  })
  await invoke()
  // The deadlines are shorter by the time that the service itself has taken, which is less than a second.
  expect(calls.map(({ deadlineMs }) => Math.round(deadlineMs / 2_000))).toEqual([10, 30, 90])
})

/** An answer that comes after so many milliseconds of the clock that deadlines use. */
function after(ms: number, outcome: RunnerOutcome) {
  return (): RunnerOutcome => {
    const endMs = performance.now() + ms
    while (performance.now() < endMs);
    return outcome
  }
}

test('no call after a failure lasts longer than what is left of the time of the whole call', async () => {
  const retry = { times: 1, backoffMs: 0, timeoutFactor: 10 }
  const limits = { timeoutSeconds: 40 }
  const { invoke, calls } = await service(
    [failing({ retry }, { ...TWICE, limits })],
    { 'a:main': [after(2, ran('DEADLINE_EXCEEDED')), OK] },
    { deadlineMsMax: 50_000 },
  )
  await invoke()
  expect(calls).toHaveLength(2)
  expect(calls[1]?.deadlineMs).toBeLessThan(50_000)
})

test('no tool is called when less is left than its usual deadline, and than five seconds', async () => {
  const long = { limits: { timeoutSeconds: 60 } }
  const short = { limits: { timeoutSeconds: 1 } }
  const onFailure = { retry: AT_ONCE, fallbackTools: [{ name: 'b:long' }, { name: 'b:short' }] }
  const { invoke, names } = await service(
    [failing(onFailure, { ...TWICE, ...long }), python('b:long', long), python('b:short', short)],
    { 'a:main': [after(2, ran('TOOL_RAISED'))] },
    { deadlineMsMax: 5_000 },
  )
  expect(await invoke()).toMatchObject({ status: 200, body: { meta: { tool: 'b:short' } } })
  expect(names()).toEqual(['a:main', 'b:short'])
})

test('a tool whose circuit is open is not called again, and the fallback of any kind takes its place', async () => {
  const onFailure = { retry: AT_ONCE, network: { fallbackTools: [{ name: 'b:alt' }] } }
  const { invoke, names } = await service([failing(onFailure, TWICE), python('b:alt')], {
    'a:main': [notRun('TOOL_UNAVAILABLE')],
  })
  expect((await invoke()).body).toMatchObject({ resultType: 'success', meta: { fallbackFor: 'a:main' } })
  expect(names()).toEqual(['a:main', 'b:alt'])
})

test('the first fallback that answers takes the place of the tool, with the mapped arguments', async () => {
  const onFailure = {
    fallbackTools: [
      { name: 'b:down' },
      { name: 'b:alt', args: { town: 'city', never: 'days' } },
      { name: 'b:last' },
    ],
  }
  const parameters = { type: 'object', properties: { town: { type: 'string' } }, additionalProperties: false }
  const tools = [failing(onFailure), python('b:down'), python('b:alt', { parameters }), python('b:last')]
  const { invoke, calls, names } = await service(tools, {
    'a:main': [ran('TOOL_RAISED')],
    'b:down': [ran('TOOL_RAISED')],
  })
  const answer = await invoke({ city: 'Bern' }, { context: { room: 'hall' } })
  expect(answer).toMatchObject({ status: 200, body: { resultType: 'success' } })
  expect(meta(answer)).toMatchObject({ tool: 'b:alt', fallbackFor: 'a:main' })
  expect(names()).toEqual(['a:main', 'b:down', 'b:alt'])
  expect(calls[2]).toMatchObject({ arguments: { town: 'Bern' }, context: { caller: { room: 'hall' } } })
})

test('if no fallback helps, the failure of the tool is the answer, and it says what was tried', async () => {
  const onFailure = { fallbackTools: [{ name: 'b:down' }, { name: 'b:gone' }, { name: 'atClient' }] }
  const tools = [failing(onFailure), python('b:down'), tool('atClient')]
  const { invoke } = await service(tools, { 'a:main': [ran('TOOL_RAISED')], 'b:down': [ran('TOOL_CRASHED')] })
  const { code, body } = await invoke()
  expect(code).toBe('TOOL_RAISED')
  expect(body['textResultForLlm']).toBe(
    'It ended with TOOL_RAISED.\nb:down was called in its place and has not helped (TOOL_CRASHED). ' +
      'b:gone is not in the catalog. atClient was called in its place and has not helped (RUNS_AT_CLIENT).',
  )
})

test('a circle of fallbacks ends, and the answer names it', async () => {
  const tools = [
    failing({ fallbackTools: [{ name: 'b:alt' }] }),
    python('b:alt', { onFailure: { fallbackTools: [{ name: 'c:alt' }] } }),
    python('c:alt', { onFailure: { fallbackTools: [{ name: 'a__main' }, { name: 'c:alt' }] } }),
  ]
  const down = [ran('TOOL_RAISED')]
  const { invoke, names } = await service(tools, { 'a:main': down, 'b:alt': down, 'c:alt': down })
  const { body } = await invoke()
  expect(names()).toEqual(['a:main', 'b:alt', 'c:alt'])
  expect(body['textResultForLlm']).toContain(
    'a:main was not called again, because it has failed in this call already (a:main -> b:alt -> c:alt -> a:main).',
  )
})

test('a fallback that is named by its name and by its alias is called once', async () => {
  const onFailure = { fallbackTools: [{ name: 'b:alt' }, { name: 'b__alt' }] }
  const down = [ran('TOOL_RAISED')]
  const { invoke, names } = await service([failing(onFailure), python('b:alt')], {
    'a:main': down,
    'b:alt': down,
  })
  await invoke()
  expect(names()).toEqual(['a:main', 'b:alt'])
})

test('a chain of fallbacks and the number of calls after one failure are bounded', async () => {
  const names = ['a:main', 'b:a', 'b:b', 'b:c', 'b:d', 'b:e', 'b:f']
  const chain = names.map((name, at) =>
    python(name, { onFailure: { fallbackTools: [{ name: names[at + 1] ?? 'b:g' }] } }),
  )
  const down = Object.fromEntries(names.map((name) => [name, [ran('TOOL_RAISED')]]))
  const long = await service(chain, down)
  await long.invoke()
  expect(long.names()).toEqual(names.slice(0, 4))

  const wide = names.map((name) =>
    python(name, {
      ...TWICE,
      onFailure: {
        retry: { times: 5, backoffMs: 0 },
        fallbackTools: names
          .filter((one) => one !== name)
          .slice(0, 5)
          .map((one) => ({ name: one })),
      },
    }),
  )
  const many = await service(wide, down)
  expect(await many.invoke()).toMatchObject({ code: 'TOOL_RAISED' })
  expect(many.names()).toHaveLength(17)
})

test('a fallback needs what a call of the caller needs: rules deny it', async () => {
  const { ask, invoke, names } = await service(
    [failing({ fallbackTools: [{ name: 'b:alt' }] }), python('b:alt')],
    { 'a:main': [ran('TOOL_RAISED')] },
  )
  const rules = { default: 'allow', rules: [{ effect: 'deny', tool: 'b:alt' }] }
  expect((await ask('admin', 'PUT /rules/everybody/all', { body: rules })).status).toBe(201)
  const { code, body } = await invoke()
  expect(code).toBe('TOOL_RAISED')
  expect(body['textResultForLlm']).toContain(
    'b:alt was called in its place and has not helped (PERMISSION_DENIED).',
  )
  expect(names()).toEqual(['a:main'])
})

test('a fallback is bound to the grant of a job token, and to the selection of a session', async () => {
  const { ask, names, calls } = await service(
    [failing({ fallbackTools: [{ name: 'b:alt' }] }), python('b:alt')],
    { 'a:main': [ran('TOOL_RAISED')] },
  )
  const byJob = await ask('token', 'POST /tools/invoke', { body: { name: 'a:main', arguments: {} } })
  expect(byJob).toMatchObject({ code: 'TOOL_RAISED' })
  expect(byJob.body['textResultForLlm']).toContain('b:alt')
  expect(names()).toEqual(['a:main'])

  const session = { body: { selection: ['a:main'] } }
  expect((await ask('ann', 'PUT /sessions/s1', session)).status).toBe(201)
  const inSession = await ask('ann', 'POST /tools/invoke?session=s1', {
    body: { name: 'a:main', arguments: {} },
  })
  expect(inSession.body['textResultForLlm']).toContain('(NOT_SELECTED)')
  expect(calls.map((call) => call.tool)).toEqual(['a:main', 'a:main'])
})

test('a fallback for which a rule asks is the answer, and the approval calls it and not the tool', async () => {
  const onFailure = { fallbackTools: [{ name: 'b:alt', args: { city: 'city' } }] }
  const { ask, invoke, names } = await service([failing(onFailure), python('b:alt')], {
    'a:main': [ran('TOOL_RAISED')],
  })
  const rules = { default: 'allow', rules: [{ effect: 'ask', tool: 'b:alt' }] }
  await ask('admin', 'PUT /rules/everybody/all', { body: rules })
  const waiting = await invoke({ city: 'Bern', days: 2 })
  expect(waiting).toMatchObject({ status: 202, code: 'APPROVAL_REQUIRED' })
  const { id } = meta(waiting)['approval'] as { id: string }
  const asked = await ask('ann', `GET /approvals/${id}`)
  expect(asked.body).toMatchObject({ tool: 'b:alt', arguments: { city: 'Bern' } })
  expect(names()).toEqual(['a:main'])

  expect(await invoke({ city: 'Bern', days: 2 }, { approval: id })).toMatchObject({ status: 202 })
  await ask('ann', `POST /approvals/${id}`, { body: { decision: 'once' } })
  // The approval is for the arguments of the fallback.
  expect(await invoke({ city: 'Basel' }, { approval: id })).toMatchObject({ code: 'APPROVAL_CONFLICT' })
  const dry = await invoke({ city: 'Bern', days: 2 }, { approval: id }, {}, '?dryRun=1')
  expect(dry).toMatchObject({ status: 200, body: { decision: 'allow', approval: { id } } })
  expect(names()).toEqual(['a:main'])
  const resumed = await invoke({ city: 'Bern', days: 2 }, { approval: id })
  expect(resumed).toMatchObject({ status: 200, body: { resultType: 'success' } })
  expect(meta(resumed)).toMatchObject({ tool: 'b:alt', fallbackFor: 'a:main' })
  expect(await invoke({ city: 'Bern', days: 2 }, { approval: id })).toMatchObject({
    code: 'APPROVAL_CONFLICT',
  })
  expect(names()).toEqual(['a:main', 'b:alt'])
})

test('in a dispatch, a fallback that waits is a pending call of the tool that was called', async () => {
  const { ask, invoke, names } = await service(
    [failing({ fallbackTools: [{ name: 'b:alt' }] }), python('b:alt')],
    { 'a:main': [ran('TOOL_RAISED')] },
  )
  await ask('admin', 'PUT /rules/everybody/all', {
    body: { default: 'allow', rules: [{ effect: 'ask', tool: 'b:alt' }] },
  })
  const call = { id: 'c1', type: 'function', function: { name: 'a__main', arguments: '{"city":"Bern"}' } }
  const dispatched = async () => {
    const sent = { body: [call], headers: { 'Idempotency-Key': 'd1' } }
    return (await ask('ann', 'POST /tools/dispatch', sent)).body['pending'] as [{ approval: { id: string } }]
  }
  const [pending] = await dispatched()
  const args = { city: 'Bern' }
  expect(pending).toMatchObject({ kind: 'approval', name: 'a:main', arguments: args })
  expect(await dispatched()).toEqual([pending])
  const { id } = pending.approval
  await ask('ann', `POST /approvals/${id}`, { body: { decision: 'once' } })
  expect(meta(await invoke(args, { approval: id }))).toMatchObject({ tool: 'b:alt' })
  expect(names()).toEqual(['a:main', 'b:alt'])
})

test('an approval of a tool that has run is used up, whatever was done after the failure', async () => {
  const onFailure = { retry: AT_ONCE, fallbackTools: [{ name: 'b:alt' }] }
  const { ask, invoke, names } = await service([failing(onFailure, TWICE), python('b:alt')], {
    'a:main': [ran('TOOL_RAISED')],
  })
  await ask('admin', 'PUT /rules/everybody/all', { body: { default: 'ask', rules: [] } })
  const first = meta(await invoke())['approval'] as { id: string }
  await ask('ann', `POST /approvals/${first.id}`, { body: { decision: 'once' } })
  const second = await invoke({}, { approval: first.id })
  // The approval was for one run of the tool: it is not called again, and its fallback asks for itself.
  expect(second).toMatchObject({ status: 202, code: 'APPROVAL_REQUIRED' })
  expect(names()).toEqual(['a:main'])
  expect(await invoke({}, { approval: first.id })).toMatchObject({ code: 'APPROVAL_CONFLICT' })
  const pending = await ask('ann', 'GET /approvals?status=pending')
  expect(pending.body['items']).toMatchObject([{ tool: 'b:alt' }])
})

test('a person is asked about a failure, and the approval calls the tool once more', async () => {
  const secret = 'ghp_0123456789abcdefghijklmnopqrstuvwxyz'
  const { ask, invoke, names } = await service([failing({ ask: true })], {
    'a:main': [ran('TOOL_RAISED', { error: `Bad\nkey ${secret} for Bern` }), ran('TOOL_CRASHED'), OK],
  })
  const waiting = await invoke({ city: 'Bern' })
  expect(waiting).toMatchObject({ status: 202, code: 'APPROVAL_REQUIRED' })
  const { id } = meta(waiting)['approval'] as { id: string }
  const { body } = await ask('ann', `GET /approvals/${id}`)
  expect(body).toMatchObject({ tool: 'a:main', arguments: { city: 'Bern' }, owner: null, rule: null })
  expect(body['reason']).toMatch(/^The tool has failed \(TOOL_RAISED\).* It said: Bad key .* for Bern$/)
  expect(body['reason']).not.toContain(secret)
  for (const decision of ['always', 'session'])
    expect(await ask('ann', `POST /approvals/${id}`, { body: { decision } })).toMatchObject({
      code: 'APPROVAL_CONFLICT',
    })
  await ask('ann', `POST /approvals/${id}`, { body: { decision: 'once' } })
  const again = await invoke({ city: 'Bern' }, { approval: id })
  expect(again).toMatchObject({ status: 202, code: 'APPROVAL_REQUIRED' })
  const next = meta(again)['approval'] as { id: string }
  expect(next.id).not.toBe(id)
  expect(await invoke({ city: 'Bern' }, { approval: id })).toMatchObject({ code: 'APPROVAL_CONFLICT' })
  await ask('ann', `POST /approvals/${next.id}`, { body: { decision: 'deny' } })
  expect(await invoke({ city: 'Bern' }, { approval: next.id })).toMatchObject({ code: 'APPROVAL_DENIED' })
  expect(names()).toEqual(['a:main', 'a:main'])
})

test('an approval after a failure is for the arguments that have run, not for those that a person has replaced', async () => {
  const { ask, invoke, calls } = await service([failing({ ask: true })], {
    'a:main': [ran('TOOL_RAISED'), OK],
  })
  await ask('admin', 'PUT /rules/everybody/all', { body: { default: 'ask', rules: [] } })
  const first = meta(await invoke({ city: 'Bern' }))['approval'] as { id: string }
  const edited = { decision: 'once', arguments: { city: 'Basel' } }
  await ask('ann', `POST /approvals/${first.id}`, { body: edited })
  const second = meta(await invoke({ city: 'Bern' }, { approval: first.id }))['approval'] as { id: string }
  const shown = await ask('ann', `GET /approvals/${second.id}`)
  expect(shown.body).toMatchObject({ arguments: { city: 'Basel' } })
  await ask('ann', `POST /approvals/${second.id}`, { body: { decision: 'once' } })
  const refused = await invoke({ city: 'Chur' }, { approval: second.id })
  expect(refused).toMatchObject({ code: 'APPROVAL_CONFLICT' })
  await invoke({ city: 'Bern' }, { approval: second.id })
  expect(calls.map((call) => call.arguments)).toEqual([{ city: 'Basel' }, { city: 'Basel' }])
  expect(await invoke({ city: 'Basel' }, { approval: second.id })).toMatchObject({
    code: 'APPROVAL_CONFLICT',
  })
})

test('a call is made with the same arguments and key until it succeeds, however often a person replaces them', async () => {
  const { ask, invoke, calls } = await service([failing({ ask: true })], {
    'a:main': [ran('TOOL_RAISED'), ran('TOOL_RAISED'), ran('TOOL_RAISED'), OK],
  })
  await ask('admin', 'PUT /rules/everybody/all', { body: { default: 'ask', rules: [] } })
  const sent = { city: 'Bern' }
  let approval: string | undefined
  for (const city of ['Basel', undefined, 'Chur', undefined]) {
    const waiting = await invoke(sent, { approval }, { 'Idempotency-Key': 'k5' })
    expect(waiting).toMatchObject({ code: 'APPROVAL_REQUIRED', body: { meta: { replayed: false } } })
    approval = (meta(waiting)['approval'] as { id: string }).id
    const body = { decision: 'once', ...(city !== undefined && { arguments: { city } }) }
    expect((await ask('ann', `POST /approvals/${approval}`, { body })).status).toBe(200)
  }
  const done = await invoke(sent, { approval }, { 'Idempotency-Key': 'k5' })
  expect(done.body).toMatchObject({ resultType: 'success', meta: { replayed: false } })
  expect(calls.map((call) => call.arguments['city'])).toEqual(['Basel', 'Basel', 'Chur', 'Chur'])
})

test('the fallback of a call with replaced arguments waits, and the same call runs what the person has seen', async () => {
  const onFailure = { fallbackTools: [{ name: 'b:alt', args: { town: 'city' } }] }
  const parameters = { type: 'object', properties: { town: { type: 'string' } } }
  const tools = [failing(onFailure), python('b:alt', { parameters, onFailure: { ask: true } })]
  const { ask, invoke, calls } = await service(tools, {
    'a:main': [ran('TOOL_RAISED')],
    'b:alt': [ran('TOOL_RAISED'), OK],
  })
  await ask('admin', 'PUT /rules/everybody/all', { body: { default: 'ask', rules: [] } })
  const idOf = (answer: Answered): string => (meta(answer)['approval'] as { id: string }).id
  const approve = (id: string, args?: JsonObject) =>
    ask('ann', `POST /approvals/${id}`, { body: { decision: 'once', ...(args && { arguments: args }) } })
  const sent = { city: 'Bern' }
  const key = { 'Idempotency-Key': 'k6' }
  const own = idOf(await invoke(sent, {}, key))
  await approve(own, { city: 'Basel' })
  const fallback = idOf(await invoke(sent, { approval: own }, key))
  expect((await ask('ann', `GET /approvals/${fallback}`)).body).toMatchObject({
    tool: 'b:alt',
    arguments: { town: 'Basel' },
  })
  await approve(fallback, { town: 'Zug' })
  const other = await invoke({ city: 'Chur' }, { approval: fallback })
  expect(other).toMatchObject({ code: 'APPROVAL_CONFLICT' })
  const again = idOf(await invoke(sent, { approval: fallback }, key))
  expect((await ask('ann', `GET /approvals/${again}`)).body).toMatchObject({ arguments: { town: 'Zug' } })
  await approve(again)
  const done = await invoke(sent, { approval: again }, key)
  expect(meta(done)).toMatchObject({ tool: 'b:alt', fallbackFor: 'a:main', replayed: false })
  expect(calls.map((call) => call.arguments)).toEqual([{ city: 'Basel' }, { town: 'Zug' }, { town: 'Zug' }])
})

test('a call with a key that has failed and waits for a person is not run again by the same key', async () => {
  const { ask, invoke, names } = await service([failing({ ask: true })], {
    'a:main': [ran('TOOL_RAISED'), OK],
  })
  const key = { 'Idempotency-Key': 'k1' }
  const first = await invoke({}, {}, key)
  const replay = await invoke({}, {}, key)
  expect(replay).toMatchObject({ status: 202, code: 'APPROVAL_REQUIRED' })
  expect(meta(replay)).toMatchObject({ replayed: true, approval: meta(first)['approval'] })
  expect(names()).toHaveLength(1)
  const { id } = meta(first)['approval'] as { id: string }
  await ask('ann', `POST /approvals/${id}`, { body: { decision: 'once' } })
  const approved = await invoke({}, { approval: id }, key)
  expect(approved.body).toMatchObject({ resultType: 'success', meta: { replayed: false } })
  expect((await invoke({}, { approval: id }, key)).body).toMatchObject({ meta: { replayed: true } })
  expect(names()).toHaveLength(2)
})

test('a key stays the key of a call that fails, is approved, and fails again', async () => {
  const { ask, invoke, names } = await service([failing({ ask: true })], {
    'a:main': [ran('TOOL_RAISED'), ran('TOOL_RAISED'), OK],
  })
  const key = { 'Idempotency-Key': 'k4' }
  const idOf = (answer: Answered): string => (meta(answer)['approval'] as { id: string }).id
  const approve = (id: string) => ask('ann', `POST /approvals/${id}`, { body: { decision: 'once' } })
  const first = idOf(await invoke({}, {}, key))
  await approve(first)
  const second = idOf(await invoke({}, { approval: first }, key))
  await approve(second)
  // An approval for which the call does not wait runs nothing.
  const other = await invoke({}, { approval: crypto.randomUUID() }, key)
  expect(meta(other)).toMatchObject({ replayed: true })
  expect(names()).toHaveLength(2)
  expect((await invoke({}, { approval: second }, key)).body).toMatchObject({ resultType: 'success' })
  const again = await invoke({}, { approval: second }, key)
  expect(again.body).toMatchObject({ resultType: 'success', meta: { replayed: true } })
  expect(names()).toHaveLength(3)
})

test('a call with a key counts as one, with all its retries and fallbacks', async () => {
  const onFailure = { retry: AT_ONCE, fallbackTools: [{ name: 'b:alt' }] }
  const { invoke, names } = await service([failing(onFailure, TWICE), python('b:alt')], {
    'a:main': [ran('TOOL_RAISED')],
  })
  const key = { 'Idempotency-Key': 'k2' }
  const first = await invoke({}, {}, key)
  const again = await invoke({}, {}, key)
  expect(first.body).toMatchObject({ resultType: 'success' })
  expect(again.body).toMatchObject({ resultType: 'success', meta: { replayed: true } })
  expect(names()).toEqual(['a:main', 'a:main', 'a:main', 'b:alt'])
})

test.each<[string, Script]>([
  ['the last attempt was not run', { 'a:main': [ran('TOOL_RAISED'), notRun('RUNNER_UNAVAILABLE')] }],
  ['only its fallback has run', { 'a:main': [notRun('RUNNER_UNAVAILABLE')], 'b:alt': [ran('TOOL_RAISED')] }],
])('a call with a key that may have run is kept, although %s', async (_what, script) => {
  const onFailure = { retry: { times: 1, backoffMs: 0 }, fallbackTools: [{ name: 'b:alt' }] }
  const down = { 'b:alt': [notRun('RUNNER_UNAVAILABLE')], ...script }
  const { invoke, names } = await service([failing(onFailure, TWICE), python('b:alt')], down)
  const key = { 'Idempotency-Key': 'k3' }
  expect(await invoke({}, {}, key)).toMatchObject({ code: 'RUNNER_UNAVAILABLE' })
  const count = names().length
  expect((await invoke({}, {}, key)).body).toMatchObject({ meta: { replayed: true } })
  expect(names()).toHaveLength(count)
})

test('an answer for always holds for a retry, and is not used up', async () => {
  const { ask, invoke } = await service([failing({ retry: { times: 1, backoffMs: 0 } }, TWICE)], {
    'a:main': [ran('TOOL_RAISED'), notRun('RUNNER_UNAVAILABLE')],
  })
  await ask('admin', 'PUT /rules/everybody/all', { body: { default: 'ask', rules: [] } })
  const { id } = meta(await invoke())['approval'] as { id: string }
  await ask('ann', `POST /approvals/${id}`, { body: { decision: 'always' } })
  expect(meta(await invoke({}, { approval: id }))).toMatchObject({ attempts: 2 })
})

test('a tool whose definition has changed meanwhile is not called again', async () => {
  const definitions = [failing({ retry: AT_ONCE }, TWICE), failing({ retry: { times: 1 } }, TWICE)]
  const [before, later] = definitions.map((definition) => catalogView({ user: [definition] }))
  const calls: RunnerCall[] = []
  const run = (call: RunnerCall): RunnerOutcome => {
    calls.push(call)
    return ran('TOOL_RAISED')
  }
  const { asked } = keyedCalls(memoryStores().keys, run, {
    catalog: { view: () => (calls.length === 0 ? before : later) as NonNullable<typeof before> },
  })
  const { result } = await asked(undefined, { name: 'a:main' })
  expect(result.textResultForLlm).toContain('a:main could not be called again (DIGEST_CHANGED).')
  expect(calls).toHaveLength(1)
})

test.each([undefined, 'k7'])(
  'a caller who leaves ends the wait before a retry, with the key %s',
  async (key) => {
    const definition = failing({ retry: { times: 5, backoffMs: 30_000 } }, TWICE)
    const view = catalogView({ user: [definition] })
    const { asked, ran: calls } = keyedCalls(memoryStores().keys, () => ran('TOOL_RAISED'), {
      catalog: { view: () => view },
    })
    const caller = new AbortController()
    const answer = asked(key, { name: 'a:main', signal: caller.signal })
    await until(
      () => Promise.resolve(calls.length),
      (count) => count === 1,
    )
    caller.abort()
    expect((await answer).result).toMatchObject({ code: 'TOOL_RAISED' })
    if (key !== undefined) {
      const again = await asked(key, { name: 'a:main' })
      expect(again.result).toMatchObject({ code: 'TOOL_RAISED', meta: { replayed: true } })
    }
    expect(calls).toHaveLength(1)
  },
)

test('no more than 16 calls of a user wait for a retry, and the others fail at once', async () => {
  const definition = failing({ retry: { times: 5, backoffMs: 30_000 } }, TWICE)
  const view = catalogView({ user: [definition] })
  const { asked } = keyedCalls(memoryStores().keys, () => ran('TOOL_RAISED'), {
    catalog: { view: () => view },
  })
  const callers = Array.from({ length: BACKOFFS_PER_USER_MAX + 1 }, () => new AbortController())
  const answers = callers.map(({ signal }) => asked(undefined, { name: 'a:main', signal }))
  const { result } = await Promise.race(answers)
  expect(result.textResultForLlm).toBe(
    'It ended with TOOL_RAISED.\na:main was not called again, because too many calls wait for a retry.',
  )
  for (const caller of callers) caller.abort()
  await Promise.all(answers)
})

test('no attempt is made after the end of the job token of the call', async () => {
  const definition = failing({ retry: { times: 5, backoffMs: 30_000 } }, TWICE)
  const view = catalogView({ user: [definition] })
  const { asked, ran: calls } = keyedCalls(memoryStores().keys, () => ran('TOOL_RAISED'), {
    catalog: { view: () => view },
  })
  const grant = grantOf([{ name: 'a:main', digest: definitionDigest(definition) }])
  const job = { kind: 'job', uid: 'ann', isAdmin: false, workflowId: 'w', grant } as const
  const endsAtMs = Date.now() + 10_000
  const { result } = await asked(undefined, { name: 'a:main', principal: { ...job, endsAtMs } })
  expect(result).toMatchObject({ code: 'TOOL_RAISED' })
  expect(calls).toHaveLength(1)
})

test('every attempt has a record of its own, which names the call that has made it', async () => {
  const onFailure = { retry: { times: 1, backoffMs: 0 }, fallbackTools: [{ name: 'b:alt' }] }
  const { ask, invoke, audit } = await service([failing(onFailure, TWICE), python('b:alt')], {
    'a:main': [ran('TOOL_RAISED'), ran('TOOL_CRASHED')],
  })
  const { body } = await invoke()
  const { invocationId } = body['meta'] as { invocationId: string }
  await audit.written()
  const { body: found } = await ask('ann', 'GET /audit?limit=10')
  const records = (found['records'] as readonly JsonObject[]).filter((one) => one['kind'] === 'call')
  const facts = records.map(({ tool: name, outcome, invocationId: own, parentInvocationId }) => [
    name,
    outcome,
    own === invocationId,
    parentInvocationId === invocationId,
  ])
  const { body: history } = await ask('ann', `GET /tools/invocations/${invocationId}`)
  expect(history).toMatchObject({ tool: 'a:main', outcome: 'failure', code: 'TOOL_RAISED' })
  expect(facts.toSorted()).toEqual([
    ['a:main', 'TOOL_CRASHED', false, true],
    ['a:main', 'TOOL_RAISED', true, false],
    ['b:alt', 'ok', false, true],
  ])
})

const withNote = (marked: boolean) => ({
  type: 'object',
  properties: { note: { type: 'string', ...(marked && { 'x-sensitive': true }) } },
})

test('a fallback does not get a sensitive argument that it would show in its records', async () => {
  const fallbackTools = [
    { name: 'b:open', args: { note: 'note' } },
    { name: 'b:marked', args: { note: 'note' } },
  ]
  const tools = [
    failing({ fallbackTools }, { parameters: withNote(true) }),
    python('b:open', { parameters: withNote(false) }),
    python('b:marked', { parameters: withNote(true) }),
  ]
  const { invoke, names } = await service(tools, { 'a:main': [ran('TOOL_RAISED')] })
  expect((await invoke({ note: '4711' })).body).toMatchObject({ resultType: 'success' })
  expect(names()).toEqual(['a:main', 'b:marked'])
})

test('a partial result has what was yielded, else what was printed, and says the error', async () => {
  const log = { text: 'row 1 of 3\n', truncated: false }
  const yields =
    (...values: readonly string[]) =>
    (call: RunnerCall): RunnerOutcome => {
      for (const value of values) void call.listen?.({ type: 'value', value: new JsonText(value) })
      return ran('TOOL_RAISED', { log })
    }
  const { invoke } = await service([failing({ degraded: true })], {
    'a:main': [yields('"one, "', '"two"'), yields('"one"', '{"n":2.0}'), yields(), ran('TOOL_RAISED')],
  })
  const note =
    'This is only a part of the result: a:main failed before its end (TOOL_RAISED). It ended with TOOL_RAISED.'
  const answers = [await invoke(), await invoke(), await invoke()]
  expect(answers.map(({ body }) => [body['textResultForLlm'], body['data']])).toEqual([
    [`one, two\n\n${note}`, undefined],
    [`["one",{"n":2.0}]\n\n${note}`, ['one', { n: 2 }]],
    [`row 1 of 3\n\n${note}`, undefined],
  ])
  for (const answer of answers) expect(meta(answer)).toMatchObject({ degraded: true })
  expect(await invoke()).toMatchObject({ code: 'TOOL_RAISED' })
})

const printing =
  (text: string, outcome: RunnerOutcome) =>
  (call: RunnerCall): RunnerOutcome => {
    void call.listen?.({ type: 'log', text })
    return outcome
  }

test('a partial result has no stored secret of the tool, in values and in prints', async () => {
  const secret = 'kitchen-door-4711'
  const runner = { kind: 'python', module: 'a', sha256: 'a'.repeat(64), secrets: ['API_KEY'] } as const
  const error = `No ${secret}.`
  const yields = (call: RunnerCall): RunnerOutcome => {
    void call.listen?.({ type: 'value', value: new JsonText(JSON.stringify(`key ${secret}`)) })
    return ran('TOOL_RAISED', { error })
  }
  const log = { text: `key ${secret}\n`, truncated: false }
  const { ask, invoke, calls } = await service([failing({ degraded: true }, { runner })], {
    'a:main': [yields, ran('TOOL_RAISED', { log, error })],
  })
  const stored = await ask('admin', 'PUT /secrets/API_KEY?layer=global', { body: { value: secret } })
  expect(stored.status).toBe(204)
  for (const answer of [await invoke(), await invoke()]) {
    expect(answer.body).toMatchObject({ resultType: 'success', meta: { degraded: true } })
    expect(JSON.stringify(answer.body)).not.toContain(secret)
    expect(answer.body['textResultForLlm']).toMatch(/^key /)
  }
  expect(calls[0]?.context.secrets).toEqual({ API_KEY: secret })
})

test('a streaming caller hears one start, and the events of all attempts', async () => {
  const onFailure = { retry: { times: 1, backoffMs: 0 }, fallbackTools: [{ name: 'b:alt' }] }
  const { invoke } = await service([failing(onFailure, TWICE), python('b:alt')], {
    'a:main': [notRun('RUNNER_UNAVAILABLE'), printing('again\n', ran('TOOL_RAISED'))],
    'b:alt': [printing('instead\n', OK)],
  })
  const { body } = await invoke({}, {}, { Accept: 'text/event-stream' })
  const events = body['events'] as readonly JsonObject[]
  const result = events.at(-1) as { meta: { invocationId: string } }
  expect(events).toEqual([
    { invocationId: result.meta.invocationId },
    { text: 'again\n' },
    { text: 'instead\n' },
    expect.objectContaining({ resultType: 'success' }),
  ])
})
