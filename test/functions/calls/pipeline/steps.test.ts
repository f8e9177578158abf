import { expect, test } from '@jest/globals'
import type { ToolDefinition } from '@toolrack/contract'
import { toolFailure, toolResult } from '@toolrack/contract'
import type { Catalog } from '../../../../functions/src/catalog/views/catalog.ts'
import { grantOf } from '../../../../functions/src/access/principal.ts'
import { outcomeOf } from '../../../../functions/src/calls/call.ts'
import type {
  Authorised,
  CallOutcome,
  Received,
  Requested,
  Resolved,
} from '../../../../functions/src/calls/call.ts'
import { resolveTool } from '../../../../functions/src/calls/pipeline/resolve-tool.ts'
import { endDryRun } from '../../../../functions/src/features/calling/dry-run.ts'
import { keepCall } from '../../../../functions/src/calls/pipeline/keep-call.ts'
import { RESULT_BYTES_MAX, runTool } from '../../../../functions/src/calls/pipeline/run-tool.ts'
import {
  absentRunner,
  type Runner,
  type RunnerCall,
  type RunnerOutcome,
} from '../../../../functions/src/catalog/definitions/runner.ts'
import { StoredSecrets } from '../../../../functions/src/redaction/stored-secrets.ts'
import {
  boundResult,
  readRequest,
  show,
  validateArguments,
} from '../../../../functions/src/calls/pipeline/steps.ts'
import type { ArgumentValidator } from '../../../../functions/src/catalog/schemas/argument-validator.ts'
import { receivedCall, requestedCall, resolvedCall } from '../../../support/call-stages.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'
import { memoryInvocationLogs } from '../../../support/memory-invocation-logs.ts'

/** What lies inside the step: it keeps the call that it gets, and answers so. */
function inside<Call extends Received>(more: Partial<CallOutcome> = {}) {
  const got: Call[] = []
  function next(call: Call): Promise<CallOutcome> {
    got.push(call)
    return Promise.resolve({ ...outcomeOf(call, toolResult('ran')), ...more })
  }
  return { got, next }
}

const REQUEST = requestedCall({ name: 'ECHO', arguments: { text: 'a' } }).request
const ECHO: ToolDefinition = { ...tool('ECHO'), runner: { kind: 'builtin', builtin: 'echo' } }

test('show the call: the operator sees how it ended, and the outcome is unchanged', async () => {
  const shown: unknown[] = []
  const { got, next } = inside({ result: toolFailure('TOOL_NOT_FOUND', 'None.') })
  const call = receivedCall()
  const outcome = await show((...what) => shown.push(what))(call, next)
  expect(got).toEqual([call])
  expect(shown).toEqual([[outcome, expect.any(Number)]])
  expect(outcome.result).toMatchObject({ code: 'TOOL_NOT_FOUND' })
})

test.each([
  ['at hand', () => REQUEST],
  ['to wait for', () => Promise.resolve(REQUEST)],
])('read the request: the inner steps have it, where it is %s', async (_title, read) => {
  const { got, next } = inside()
  const call = receivedCall({ read })
  await readRequest(call, next)
  expect(got).toEqual([{ ...call, request: REQUEST, readAtMs: expect.any(Number) }])
})

test('read the request: a call that cannot be read goes no further', async () => {
  const { got, next } = inside()
  const call = receivedCall({ read: () => Promise.reject(new Error('not JSON')) })
  await expect(readRequest(call, next)).rejects.toThrow('not JSON')
  expect(got).toEqual([])
})

/** The step over a catalog of these tools, whose layers are checked already or not. */
function resolving(tools: readonly ToolDefinition[], isChecked = true) {
  const view = catalogView({ user: tools })
  const catalog = { view: () => (isChecked ? view : Promise.resolve(view)) } as Pick<Catalog, 'view'>
  return { view, step: resolveTool({ catalog }) }
}

test.each([true, false])(
  'resolve the tool: the inner steps know the tool, how it is run and its limits (layers checked: %s)',
  async (isChecked) => {
    const limits = { timeoutSeconds: 3 }
    const { view, step } = resolving([{ ...ECHO, limits }], isChecked)
    const { got, next } = inside()
    await step(requestedCall({ name: 'ECHO' }), next)
    expect(got).toMatchObject([{ entry: view.winner('ECHO'), howRun: { by: 'builtin' }, limits }])
  },
)

test('resolve the tool: what null leaves out is not among the arguments, where the caller writes so', async () => {
  const parameters = { type: 'object', properties: { text: { type: 'string' } } }
  const { step } = resolving([{ ...ECHO, function: { ...ECHO.function, parameters } }])
  const { got, next } = inside<Requested>()
  const request = { name: 'ECHO', arguments: { text: null } }
  await step(requestedCall({ ...request, nullMeansOmitted: true }), next)
  await step(requestedCall(request), next)
  expect(got.map((call) => call.request.arguments)).toEqual([{}, { text: null }])
})

test('resolve the tool: a refusal knows the catalog, and no tool', async () => {
  const { view, step } = resolving([ECHO])
  const { got, next } = inside()
  const expectedDigest = `sha256:${'0'.repeat(64)}` as const
  const grant = grantOf([{ name: 'OTHER', digest: expectedDigest }])
  const job = { kind: 'job', uid: 'ann', isAdmin: false, grant, workflowId: 'w' } as const
  const refused = await Promise.all([
    step(requestedCall({ name: 'NONE' }), next),
    step(requestedCall({ name: 'ECHO', expectedDigest }), next),
    step(requestedCall({ name: 'NONE' }, { principal: job }), next),
  ])
  expect(refused.map(({ result }) => result.resultType === 'failure' && result.code)).toEqual([
    'TOOL_NOT_FOUND',
    'DIGEST_CHANGED',
    'PERMISSION_DENIED',
  ])
  for (const { call } of refused) {
    expect(call.view).toBe(view)
    expect(call.entry).toBeUndefined()
  }
  expect(got).toEqual([])
})

function checking(faults: readonly string[]) {
  return validateArguments({
    validator: { validate: () => Promise.resolve({ faults }) } as unknown as ArgumentValidator,
  })
}

test('validate the arguments: faults are told with the name of the tool, and nothing is run', async () => {
  const { got, next } = inside()
  await expect(checking(["'a' is missing.", 'More.'])(resolvedCall(ECHO), next)).rejects.toMatchObject({
    code: 'ARGUMENTS_INVALID',
    message: "ECHO: 'a' is missing. More.",
  })
  expect(got).toEqual([])
})

test('validate the arguments: a check knows who calls and when they have gone', async () => {
  const askers: Parameters<ArgumentValidator['validate']>[2][] = []
  const validate: ArgumentValidator['validate'] = (_definition, _arguments, asker) => {
    askers.push(asker)
    return Promise.resolve({ faults: [] })
  }
  const call = resolvedCall(ECHO)
  await validateArguments({ validator: { validate } as ArgumentValidator })(call, inside().next)
  expect(askers).toEqual([{ user: call.principal.uid, signal: call.signal }])
})

test('validate the arguments: those that fit go on; a tool that the client runs is refused, whatever they are', async () => {
  const { got, next } = inside<Resolved>()
  await checking([])(resolvedCall(ECHO), next)
  await expect(checking(['wrong'])(resolvedCall(tool('AT_CLIENT')), next)).rejects.toMatchObject({
    code: 'RUNS_AT_CLIENT',
  })
  expect(got.map((call) => call.entry.name)).toEqual(['ECHO'])
})

const echoCall = (invocationId: string) => resolvedCall(ECHO, {}, { invocationId })

const decision = { effect: 'ask', owner: null, rule: 2, reason: 'Rule 2 says ask.' } as const

test('end a dry run: no inner step sees it, also if an approval is needed, and every other call goes on', async () => {
  const { got, next } = inside<Authorised>()
  const step = endDryRun({ deadlineMsMax: 2_000, now: Date.now })
  const dry = { ...resolvedCall(ECHO, {}, { isDryRun: true }), decision }
  const { result, approval } = await step(dry, next)
  expect(got).toEqual([])
  const { effect, ...told } = decision
  const data = { decision: effect, ...told, effects: ['opaque'], limits: {} }
  expect([result, approval]).toMatchObject([{ resultType: 'success', data }, null])
  const real = { ...resolvedCall(ECHO), decision }
  await step(real, next)
  expect(got).toEqual([real])
})

test('keep the call: secrets in what it printed are not kept', async () => {
  const logs = memoryInvocationLogs(() => 0)
  const log = { text: 'token=abc\nsent', truncated: false }
  await keepCall({ logs, now: () => 0 })(receivedCall(), inside({ log }).next)
  expect((await logs.find('ann', 'i1'))?.log).toEqual({ text: 'token=[redacted]\nsent', truncated: false })
})

test('keep the call: it is kept with what it printed, and what is not known yet is null', async () => {
  const logs = memoryInvocationLogs(() => 0)
  const step = keepCall({ logs, now: () => 0 })
  const printed = { text: 'printed', truncated: true }
  const entry = echoCall('i1').entry
  await step(echoCall('i1'), inside({ log: printed, isolation: 'L1' }).next)
  await step(receivedCall({ invocationId: 'i2' }), inside({ log: { text: '', truncated: false } }).next)
  const failure = { result: toolFailure('TOOL_RAISED', 'secret'), replayed: true }
  const job = { kind: 'job', uid: 'ann', isAdmin: false, grant: grantOf([]), workflowId: 'w' } as const
  const asked = requestedCall({ name: 'NONE' }, { invocationId: 'i3', principal: job, isDryRun: true })
  await step(asked, inside(failure).next)
  const unknown = {
    parentInvocationId: null,
    at: '1970-01-01T00:00:00.000Z',
    durationMs: expect.any(Number),
    tool: null,
    digest: null,
    revision: null,
    outcome: 'success',
    code: null,
    isolation: null,
    usage: null,
    replayed: false,
    dryRun: false,
    workflow: null,
    decision: null,
    log: null,
  }
  expect(await logs.find('ann', 'i1')).toEqual({
    ...unknown,
    invocationId: 'i1',
    tool: 'ECHO',
    digest: entry.digest,
    revision: expect.any(String),
    isolation: 'L1',
    log: printed,
  })
  expect(await logs.find('ann', 'i2')).toEqual({ ...unknown, invocationId: 'i2' })
  expect(await logs.find('ann', 'i3')).toEqual({
    ...unknown,
    invocationId: 'i3',
    tool: 'NONE',
    outcome: 'failure',
    code: 'TOOL_RAISED',
    replayed: true,
    dryRun: true,
    workflow: 'w',
  })
})

test.each([
  ['a', RESULT_BYTES_MAX, 'success'],
  ['a', RESULT_BYTES_MAX + 1, 'failure'],
  ['€', Math.floor(RESULT_BYTES_MAX / 3), 'success'],
  ['€', Math.floor(RESULT_BYTES_MAX / 3) + 1, 'failure'],
])(
  'bound the result: %s, %d times, is a %s; all else of the outcome stays',
  async (text, times, resultType) => {
    const log = { text: 'printed', truncated: false }
    const { next } = inside({ result: toolResult(text.repeat(times)), log })
    const outcome = await boundResult(resolvedCall(ECHO), next)
    expect(outcome).toMatchObject({ log, result: { resultType } })
    if (outcome.result.resultType === 'failure')
      expect(outcome.result).toMatchObject({
        code: 'RESULT_TOO_LARGE',
        error: expect.stringMatching(/^The result of ECHO has/),
      })
  },
)

test('bound the result: a failure is told whole', async () => {
  const result = toolFailure('TOOL_RAISED', 'x'.repeat(RESULT_BYTES_MAX + 1))
  const { next } = inside({ result })
  expect((await boundResult(resolvedCall(ECHO), next)).result).toBe(result)
})

const RUN_PARTS = {
  runner: absentRunner('None here.'),
  sourceOf: () => Promise.resolve(undefined),
  now: Date.now,
  deadlineMsMax: Infinity,
}

test('run the tool: a built-in tool answers, and the runner is not asked', async () => {
  const outcome = await runTool(RUN_PARTS)(resolvedCall(ECHO, { arguments: { text: 'a' } }))
  expect(outcome).toMatchObject({ result: toolResult('a'), isolation: null, replayed: false })
  expect(outcome.executionTimeMs).toBeGreaterThan(0)
})

test.each([
  [undefined, 'RUNS_AT_CLIENT'],
  [{ kind: 'workflow', workflowName: 'w' }, 'RUNS_AT_CLIENT'],
  [{ kind: 'workflow' }, 'KIND_NOT_SERVED'],
  [{ kind: 'http' }, 'KIND_NOT_SERVED'],
] as const)('run the tool: with the runner %j it is refused as %s', async (runner, code) => {
  const call = resolvedCall({ ...tool('T'), ...(runner && { runner }) })
  await expect(runTool(RUN_PARTS)(call)).rejects.toMatchObject({ code })
})

test('run the tool: what the runner answers is the outcome, with when to come again', async () => {
  const usage = { wallMs: 1, cpuMs: 2, maxRssBytes: 3 }
  const log = { text: 'printed', truncated: false }
  const invoke = () =>
    Promise.resolve({
      code: 'RUNNER_BUSY',
      error: 'Busy.',
      isolation: 'L2',
      usage,
      log,
      retryAfterSeconds: 4,
    } as const)
  const call = resolvedCall({ ...tool('T'), runner: { kind: 'python', module: 'm', sha256: 'a'.repeat(64) } })
  const outcome = await runTool({ ...RUN_PARTS, runner: { ...RUN_PARTS.runner, invoke } })(call)
  expect(outcome).toMatchObject({
    call,
    result: toolFailure('RUNNER_BUSY', 'Busy.'),
    isolation: 'L2',
    usage,
    log,
    retryAfterSeconds: 4,
  })
})

test('run the tool: the time in the queues of the service is taken from the deadline, and a call without any left is not sent', async () => {
  const deadlines: number[] = []
  const invoke: Runner['invoke'] = ({ deadlineMs }) => {
    deadlines.push(deadlineMs)
    return Promise.resolve({ text: 'ran' } as RunnerOutcome)
  }
  const run = runTool({ ...RUN_PARTS, runner: { invoke } })
  const runner = { kind: 'python', module: 'm', sha256: 'a'.repeat(64) } as const
  const call = resolvedCall({ ...tool('T'), runner, limits: { timeoutSeconds: 20 } })
  const readAgo = (ms: number): Resolved => ({ ...call, readAtMs: performance.now() - ms })
  await run(readAgo(0))
  await run(readAgo(5_050))
  await expect(run(readAgo(20_050))).rejects.toMatchObject({
    code: 'SERVICE_BUSY',
    message: 'The call of T waited in the service until its deadline of 20 s; nothing was run. Try again.',
  })
  expect(deadlines).toEqual([20_000, 15_000])
})

test('run the tool: the files of the call go to the runner, and what the tool has made is in the outcome', async () => {
  const asked: unknown[] = []
  const [usage, log] = [
    { wallMs: 1, cpuMs: 2, maxRssBytes: 3 },
    { text: '', truncated: false },
  ]
  const made = [
    { type: 'image', mimeType: 'image/png', name: 'of a stored secret.png', bytes: Buffer.from('a') },
    { type: 'file', mimeType: 'text/csv', name: 'b.csv', bytes: Buffer.from('b') },
  ] as const
  const invoke = (call: RunnerCall): Promise<RunnerOutcome> => {
    asked.push(call.attached)
    return Promise.resolve({ json: '{"image":1}', made, isolation: 'L2', usage, log } as const)
  }
  const runner = { kind: 'python', module: 'm', sha256: 'a'.repeat(64) } as const
  const call = resolvedCall({ ...tool('T'), runner })
  const attached = [{ pointer: '/a', name: 'a.csv', bytes: Buffer.from('x') }]
  const run = runTool({ ...RUN_PARTS, runner: { ...RUN_PARTS.runner, invoke } })
  expect(await run({ ...call, attached })).toMatchObject({ made })
  const stored = new StoredSecrets(['a stored secret'])
  const outcome = await run({ ...call, secrets: { values: { KEY: 'a stored secret' }, stored } })
  expect(outcome.made?.map(({ name }) => name)).toEqual(['of [redacted].png', 'b.csv'])
  expect(asked).toEqual([attached, undefined])
})
