import { expect, test } from '@jest/globals'
import type { Layer, ToolDefinition } from '@toolrack/contract'
import { aliasOf, definitionDigest, ToolrackError } from '@toolrack/contract'
import fc from 'fast-check'
import { atOnce } from '../../../../functions/src/loop-turn.ts'
import type { Principal } from '../../../../functions/src/access/principal.ts'
import type { CatalogView } from '../../../../functions/src/catalog/views/catalog-view.ts'
import { explainName } from '../../../../functions/src/catalog/views/explain-name.ts'
import { grantOf } from '../../../../functions/src/access/principal.ts'
import { dispatch, parseCalls } from '../../../../functions/src/features/calling/dispatcher.ts'
import { HeldResults } from '../../../../functions/src/features/calling/held-results.ts'
import type { CallEvent, CallRequest, CallOutcome, Received } from '../../../../functions/src/calls/call.ts'
import { invokerOf, type CallParts } from '../../../support/invoker-of.ts'
import { Onion } from '../../../../functions/src/calls/onion.ts'
import type { Step } from '../../../../functions/src/calls/onion.ts'
import { EMPTY_BOOK } from '../../../../functions/src/features/rules/rules-in-force.ts'
import { absentRunner } from '../../../../functions/src/catalog/definitions/runner.ts'
import type { RunnerCall } from '../../../../functions/src/catalog/definitions/runner.ts'
import { callSteps } from '../../../../functions/src/calls/pipeline/steps.ts'
import type { ArgumentValidator } from '../../../../functions/src/catalog/schemas/argument-validator.ts'
import { catalogView } from '../../../support/catalog-view.ts'
import { tool } from '../../../support/definition-changes.ts'
import { memoryStores } from '../../../support/memory-governance.ts'
import { memoryInvocationLogs } from '../../../support/memory-invocation-logs.ts'

const HELD = new HeldResults()

const ANN: Principal = { kind: 'user', uid: 'ann', isAdmin: false }
const SIGNAL = new AbortController().signal
const NO_HEADERS = { idempotencyKey: undefined, traceparent: undefined }

/** An invoker over a catalog, with a runner that keeps what it is asked and returns whose tool it was. */
function invokerOver(view: CatalogView, parts: Partial<CallParts> = {}, steps?: typeof callSteps) {
  const ran: RunnerCall[] = []
  const logged: string[] = []
  const invoker = invokerOf(
    {
      catalog: { view: () => view },
      ruleBook: EMPTY_BOOK,
      validator: { validate: () => Promise.resolve({ faults: [] }) } as unknown as ArgumentValidator,
      runner: {
        ...absentRunner('None.'),
        invoke: (call) => {
          ran.push(call)
          const usage = { wallMs: 1, cpuMs: 1, maxRssBytes: 1 }
          return Promise.resolve({
            text: call.sha256,
            isolation: 'L2',
            usage,
            log: { text: 'printed', truncated: false },
          })
        },
      },
      sourceOf: ({ layer, uid }) => Promise.resolve({ source: `${layer} of ${uid}` }),
      logs: memoryInvocationLogs(),
      keys: memoryStores().keys,
      log: { info: () => undefined, warn: (text) => logged.push(text), error: (text) => logged.push(text) },
      now: Date.now,
      deadlineMsMax: Infinity,
      ...parts,
    },
    steps,
  )
  return { invoker, ran, logged }
}

const ask =
  (name: string, more: Partial<CallRequest> = {}) =>
  (): CallRequest => ({
    name,
    arguments: { text: 'echoed' },
    context: {},
    expectedDigest: undefined,
    ...more,
  })

const python = (name: string, digit: string, more: Partial<ToolDefinition> = {}): ToolDefinition => ({
  ...tool(name, `Of ${digit}.`),
  runner: { kind: 'python', module: 'm', sha256: digit.repeat(64) },
  ...more,
})

test('whoever has written a module, the process is the caller’s, and the source that of its layer', async () => {
  const view = catalogView({ user: [python('mine', 'a')], global: [python('ours', 'b')] })
  const { invoker, ran } = invokerOver(view)
  await invoker.invoke({ principal: ANN, read: ask('mine'), signal: SIGNAL })
  await invoker.invoke({ principal: ANN, read: ask('ours', { context: { session: 's' } }), signal: SIGNAL })
  expect(ran).toMatchObject([
    { tenant: 'ann', tool: 'mine', module: 'm', sha256: 'a'.repeat(64), arguments: { text: 'echoed' } },
    { tenant: 'ann', tool: 'ours', context: { session: null, caller: { session: 's' } } },
  ])
  expect(await Promise.all(ran.map(({ source }) => source()))).toEqual([
    { source: 'user of ann' },
    { source: 'global of ann' },
  ])
  expect(new Set(ran.map(({ invocationId }) => invocationId)).size).toBe(2)
})

test('a call that cannot be shown is answered all the same', async () => {
  const { invoker, logged } = invokerOver(catalogView({ user: [python('t', 'a')] }), {
    showCall: () => {
      throw new Error('no terminal')
    },
  })
  const { result } = await invoker.invoke({ principal: ANN, read: ask('t'), signal: SIGNAL })
  expect(result).toMatchObject({ resultType: 'success' })
  expect([logged, invoker.failedAfterAnswer]).toEqual([[expect.stringContaining('step failed')], 1])
})

test.each([
  [undefined, Infinity, 30_000],
  [{ timeoutSeconds: 0.25 }, Infinity, 250],
  [{ timeoutSeconds: 3_600 }, Infinity, 3_600_000],
  [{ timeoutSeconds: 3_600 }, 50_000, 50_000],
  [undefined, 50_000, 30_000],
])(
  'with limits %j on a platform that lets a call last %d ms the deadline is %d ms',
  async (limits, deadlineMsMax, expected) => {
    const view = catalogView({ user: [python('t', 'a', limits && { limits })] })
    const { invoker, ran } = invokerOver(view, { deadlineMsMax })
    await invoker.invoke({ principal: ANN, read: ask('t'), signal: SIGNAL })
    expect(ran[0]?.deadlineMs).toBe(expected)
  },
)

test('the operator sets the deadline of a call whose definition has none, and the memory of every call', async () => {
  const view = catalogView({
    user: [python('t', 'a'), python('own', 'a', { limits: { timeoutSeconds: 5 } })],
  })
  const callLimits = { deadlineMs: 2_000, memoryBytes: 64 << 20 }
  const { invoker, ran } = invokerOver(view, { callLimits })
  for (const name of ['t', 'own']) await invoker.invoke({ principal: ANN, read: ask(name), signal: SIGNAL })
  expect(ran.map(({ deadlineMs, memoryBytes }) => [deadlineMs, memoryBytes])).toEqual([
    [2_000, 64 << 20],
    [5_000, 64 << 20],
  ])
})

test('a level that a definition asks for goes to the runner; one that nobody measures is had nowhere', async () => {
  const view = catalogView({
    user: [
      python('t', 'a', { limits: { minIsolation: 'L4' } }),
      python('u', 'b', { limits: { minIsolation: 'L9' } }),
    ],
  })
  const { invoker, ran } = invokerOver(view)
  await invoker.invoke({ principal: ANN, read: ask('t'), signal: SIGNAL })
  const { result } = await invoker.invoke({ principal: ANN, read: ask('u'), signal: SIGNAL })
  expect(ran.map(({ minIsolation }) => minIsolation)).toEqual(['L4'])
  expect(result).toMatchObject({ code: 'ISOLATION_UNAVAILABLE' })
})

test('a tool that a job token does not name is not run, even where the catalog shows it', async () => {
  const { invoker, ran } = invokerOver(catalogView({ user: [python('mine', 'a')] }))
  const grant = grantOf([{ name: 'other', digest: `sha256:${'a'.repeat(64)}` }])
  const job: Principal = { kind: 'job', uid: 'ann', isAdmin: false, grant, workflowId: 'w' }
  const { result } = await invoker.invoke({ principal: job, read: ask('mine'), signal: SIGNAL })
  expect(result).toMatchObject({ code: 'PERMISSION_DENIED', error: expect.stringMatching(/mine/) })
  expect(ran).toEqual([])
})

test('while a layer is lost, a tool that it may define is not called unsupported', async () => {
  const { invoker } = invokerOver(catalogView({ user: 'error', file: [python('t', 'a')] }))
  const { result } = await invoker.invoke({ principal: ANN, read: ask('mine'), signal: SIGNAL })
  expect(result).toMatchObject({
    code: 'LAYER_UNAVAILABLE',
    error: expect.stringMatching(/mine was not found.*user/),
  })
})

test('while a layer is lost, a tool of a job token that it may define is not called changed', async () => {
  const grant = grantOf([{ name: 't', digest: definitionDigest(python('t', 'b')) }])
  const view = catalogView({ user: 'error', global: [python('t', 'a')] }).narrowedTo(grant)
  const { invoker } = invokerOver(view)
  const job: Principal = { kind: 'job', uid: 'ann', isAdmin: false, grant, workflowId: 'w' }
  const { result } = await invoker.invoke({ principal: job, read: ask('t'), signal: SIGNAL })
  expect(result).toMatchObject({ code: 'LAYER_UNAVAILABLE' })
})

test('what nobody foresaw is a result too; the log has its reason, and the caller the id to find it by', async () => {
  const failing = { ...absentRunner(''), invoke: () => Promise.reject(new TypeError('SECRET')) }
  const { invoker, logged } = invokerOver(catalogView({ user: [python('t', 'a')] }), { runner: failing })
  const { result } = await invoker.invoke({ principal: ANN, read: ask('t'), signal: SIGNAL })
  expect(result).toMatchObject({ code: 'INTERNAL', meta: { tool: 't' } })
  expect(JSON.stringify(result)).not.toContain('SECRET')
  expect(logged).toEqual(['call failed'])
})

test('a log that cannot be kept is no fault of the call; it is logged and counted', async () => {
  const logs = { ...memoryInvocationLogs(), keep: () => Promise.reject(new Error('the disk is full')) }
  const { invoker, logged } = invokerOver(catalogView({ user: [python('t', 'a')] }), { logs })
  const { result } = await invoker.invoke({ principal: ANN, read: ask('t'), signal: SIGNAL })
  expect(result.resultType).toBe('success')
  expect(logged).toEqual(['step failed after the call; its outcome is unchanged'])
  expect(invoker.failedAfterAnswer).toBe(1)
})

/** The steps that are served, inside one of the test's own. */
function within(step: Step<Received>): typeof callSteps {
  return (parts, failures) => {
    const served = callSteps(parts, failures)
    return Onion.withoutSteps(failures).step('of the test', step).run('the served steps', served)
  }
}

const unreadable = () => Promise.reject(new ToolrackError('BODY_INVALID'))

test('the outermost step sees every call: what ran, what was refused, and what could not be read', async () => {
  const seen: string[] = []
  const inspect = within(async (call, next) => {
    const outcome = await next(call)
    const { result, call: known } = outcome
    const end = result.resultType === 'failure' ? result.code : 'success'
    seen.push([known.request?.name, known.view?.revision, known.entry?.name, end].join(' '))
    return outcome
  })
  const view = catalogView({ user: [python('t', 'a')] })
  const { invoker } = invokerOver(view, {}, inspect)
  const grant = grantOf([{ name: 'u', digest: definitionDigest(python('u', 'b')) }])
  const job: Principal = { kind: 'job', uid: 'ann', isAdmin: false, grant, workflowId: 'w' }
  await invoker.invoke({ principal: ANN, read: ask('t'), signal: SIGNAL })
  await invoker.invoke({ principal: ANN, read: ask('none'), signal: SIGNAL })
  await invoker.invoke({ principal: job, read: ask('none'), signal: SIGNAL })
  await invoker.invoke({ principal: ANN, read: unreadable, signal: SIGNAL })
  expect(seen).toEqual([
    `t ${view.revision} t success`,
    `none ${view.revision}  TOOL_NOT_FOUND`,
    `none ${view.revision}  PERMISSION_DENIED`,
    '   BODY_INVALID',
  ])
})

test('an unknown tool is answered with the name that was probably meant, from the caller’s own list only', async () => {
  const view = catalogView({ user: [python('weather:get', 'a'), python('secret:got', 'b')] })
  const { invoker } = invokerOver(view)
  const grant = grantOf([{ name: 'weather:get', digest: definitionDigest(python('weather:get', 'a')) }])
  const job: Principal = { kind: 'job', uid: 'ann', isAdmin: false, grant, workflowId: 'w' }
  const text = async (principal: Principal, name: string) =>
    (await invoker.invoke({ principal, read: ask(name), signal: SIGNAL })).result
  expect(await text(ANN, 'weather:gett')).toMatchObject({
    error: 'Unsupported tool: weather:gett',
    textResultForLlm: "Unsupported tool: weather:gett. Did you mean 'weather:get'?",
  })
  expect(await text(ANN, 'weather__gett')).toMatchObject({
    textResultForLlm: "Unsupported tool: weather__gett. Did you mean 'weather__get'?",
  })
  expect(await text(ANN, 'secret:gott')).toMatchObject({
    textResultForLlm: expect.stringContaining("'secret:got'"),
  })
  expect(await text(job, 'weather:gett')).toMatchObject({
    error: 'The token of this job does not name the tool weather:gett.',
    textResultForLlm:
      "The token of this job does not name the tool weather:gett. Did you mean 'weather:get'?",
  })
  const denied = 'The token of this job does not name the tool secret:gott.'
  expect(await text(job, 'secret:gott')).toMatchObject({ error: denied, textResultForLlm: denied })
})

test('the handler’s context has what the service knows, and what the caller said apart from it', async () => {
  const { invoker, ran } = invokerOver(catalogView({ user: [python('t', 'a')] }))
  const grant = grantOf([{ name: 't', digest: definitionDigest(python('t', 'a')) }])
  const job: Principal = { kind: 'job', uid: 'ann', isAdmin: false, grant, workflowId: 'nightly' }
  const said = { user: 'root', invocationId: 'none', workflow: 'other' }
  await invoker.invoke({ principal: ANN, read: ask('t', { context: said }), signal: SIGNAL })
  await invoker.invoke({ principal: job, read: ask('t'), signal: SIGNAL })
  const facts = (index: number) => ({
    user: 'ann',
    invocationId: ran[index]?.invocationId,
    tool: 't',
    session: null,
  })
  expect(ran.map(({ context }) => context)).toEqual([
    { ...facts(0), workflow: null, caller: said },
    { ...facts(1), workflow: 'nightly', caller: {} },
  ])
})

test('a step makes another call through the whole pipeline, and the caller gets one result', async () => {
  const calls: (readonly [string | null, string])[] = []
  const fallBack = within(async (call, next) => {
    const outcome = await next(call)
    calls.push([call.parentInvocationId, call.invocationId])
    if (outcome.result.resultType === 'success' || call.parentInvocationId !== null) return outcome
    return call.pipeline.invoke({
      principal: call.principal,
      read: ask('ECHO'),
      signal: call.signal,
      parentInvocationId: call.invocationId,
    })
  })
  const echo: ToolDefinition = { ...tool('ECHO'), runner: { kind: 'builtin', builtin: 'echo' } }
  const { invoker } = invokerOver(catalogView({ user: [echo] }), {}, fallBack)
  const { result } = await invoker.invoke({ principal: ANN, read: ask('none'), signal: SIGNAL })
  expect(result).toMatchObject({ textResultForLlm: 'echoed', meta: { tool: 'ECHO' } })
  const [first, second] = calls
  expect(calls.length).toBe(2)
  expect(first?.[0]).toBeNull()
  expect(second?.[0]).toBe(first?.[1])
  expect(second?.[1]).not.toBe(first?.[1])
  // The caller knows one call only: the first.
  expect(result.meta.invocationId).toBe(first?.[1])
})

/** The served steps, inside one that says this of every outcome. */
function say(more: Partial<CallOutcome>): typeof callSteps {
  return within(async (call, next) => ({ ...(await next(call)), ...more }))
}

test('what a step says of an outcome is told in the meta, and nothing where nothing is said', async () => {
  const approval = { id: 'p1', expiresAt: '2030-01-01T00:00:00Z' }
  const view = catalogView({ user: [python('t', 'a')] })
  const metaWith = async (more: Partial<CallOutcome>) => {
    const { invoker } = invokerOver(view, {}, say(more))
    return (await invoker.invoke({ principal: ANN, read: ask('t'), signal: SIGNAL })).result.meta
  }
  expect(await metaWith({ replayed: true, artifact: 'a1', approval })).toMatchObject({
    replayed: true,
    artifact: 'a1',
    approval,
  })
  const meta = await metaWith({})
  expect(meta.replayed).toBe(false)
  expect(Object.keys(meta)).not.toEqual(expect.arrayContaining(['artifact']))
  expect(Object.keys(meta)).not.toEqual(expect.arrayContaining(['approval']))
})

test('a listener hears the events of its call in order, and none after the answer', async () => {
  const heard: CallEvent[] = []
  let emit: Received['emit'] | undefined
  const speak = within((call, next) => {
    emit = call.emit
    void call.emit({ type: 'log', text: 'a' })
    void call.emit({ type: 'progress', fraction: 0.5, text: 'half' })
    return next(call)
  })
  const { invoker } = invokerOver(catalogView({ user: [python('t', 'a')] }), {}, speak)
  const listen = (event: CallEvent) => void heard.push(event)
  await invoker.invoke({ principal: ANN, read: ask('t'), signal: SIGNAL, listen })
  void emit?.({ type: 'log', text: 'too late' })
  expect(heard).toEqual([
    { type: 'log', text: 'a' },
    { type: 'progress', fraction: 0.5, text: 'half' },
    { type: 'start', invocationId: expect.any(String) },
  ])
})

test('a listener hears that a silent tool runs before the tool has ended', async () => {
  const started = Promise.withResolvers<void>()
  const runner = {
    ...absentRunner('None.'),
    invoke: async () => {
      await started.promise
      const usage = { wallMs: 1, cpuMs: 1, maxRssBytes: 1 }
      return { text: 'done', isolation: 'L2', usage, log: { text: '', truncated: false } } as const
    },
  }
  const heard: string[] = []
  const listen = ({ type }: CallEvent): void => {
    heard.push(type)
    started.resolve()
  }
  const { invoker } = invokerOver(catalogView({ user: [python('t', 'a')] }), { runner })
  const { result } = await invoker.invoke({ principal: ANN, read: ask('t'), signal: SIGNAL, listen })
  expect([result.textResultForLlm, heard]).toEqual(['done', ['start']])
})

test('a call that its runner refuses or loses before it has begun has no start', async () => {
  for (const code of ['RUNNER_BUSY', 'WORKER_DIED'] as const) {
    const runner = { ...absentRunner('None.'), invoke: () => Promise.resolve({ code, error: 'no' }) }
    const heard: CallEvent[] = []
    const { invoker } = invokerOver(catalogView({ user: [python('t', 'a')] }), { runner })
    const listen = (event: CallEvent) => void heard.push(event)
    const { result } = await invoker.invoke({ principal: ANN, read: ask('t'), signal: SIGNAL, listen })
    expect(result).toMatchObject({ code })
    expect(heard).toEqual([])
  }
})

const BROKEN: readonly (readonly [string, () => void])[] = [
  [
    'throws',
    () => {
      throw new Error('the socket is gone')
    },
  ],
  ['rejects', async () => Promise.reject(new Error('the socket is gone'))],
]
test.each(BROKEN)(
  'a listener that %s changes nothing of the call, and is logged once',
  async (_how, listen) => {
    const speak = within(async (call, next) => {
      void call.emit({ type: 'log', text: 'a' })
      void call.emit({ type: 'log', text: 'b' })
      await new Promise(setImmediate)
      return next(call)
    })
    const { invoker, logged } = invokerOver(catalogView({ user: [python('t', 'a')] }), {}, speak)
    const { result } = await invoker.invoke({ principal: ANN, read: ask('t'), signal: SIGNAL, listen })
    expect(result.resultType).toBe('success')
    expect(logged).toEqual(['listener of a call failed'])
  },
)

test('every step is told the headers that the edge has read', async () => {
  const seen: unknown[] = []
  const inspect = within((call, next) => {
    seen.push(call.headers)
    return next(call)
  })
  const { invoker } = invokerOver(catalogView({ user: [python('t', 'a')] }), {}, inspect)
  const headers = { idempotencyKey: 'k1', traceparent: '00-1-2-01' }
  await invoker.invoke({ principal: ANN, read: ask('t'), signal: SIGNAL, headers })
  const calls = ['c1', 'c2'].map((id) => ({ type: 'tool_use', id, name: 't', input: {} }))
  await dispatch(invoker, { principal: ANN, headers, signal: SIGNAL }, parseCalls(calls), HELD.begin('ann'))
  expect(seen).toEqual([
    headers,
    { ...headers, idempotencyKey: 'k1\nid c1' },
    { ...headers, idempotencyKey: 'k1\nid c2' },
  ])
})

const NAMES = ['a:b', 'a__b', 'a.b', 'ECHO', 'plain'] as const
const OUTSIDE = [
  ...NAMES.map(aliasOf),
  'a_b',
  'toString',
  '__proto__',
  'PLAIN',
  'plain ',
  '',
  'a:b@sha256:0',
] as const
const definition = fc
  .record({
    name: fc.constantFrom(...NAMES),
    digit: fc.constantFrom('0', '1'),
    runner: fc.constantFrom('python', 'echo', 'nonsense', 'broken', 'http', 'workflow', 'none'),
    isSealed: fc.boolean(),
  })
  .map(({ name, digit, runner, isSealed }): ToolDefinition => {
    const runners = {
      python: { kind: 'python', module: 'm', sha256: digit.repeat(64) },
      echo: { kind: 'builtin', builtin: 'echo' },
      nonsense: { kind: 'builtin', builtin: 'constructor' },
      broken: { kind: 'python', module: 'm' },
      http: { kind: 'http' },
      workflow: { kind: 'workflow', workflowName: 'w' },
    } as const
    return {
      ...tool(name, `Of ${digit}.`),
      ...(runner !== 'none' && { runner: runners[runner] }),
      ...(isSealed && { sealed: true }),
    }
  })
const layer = fc.uniqueArray(definition, { selector: ({ function: { name } }) => name })
const granted = fc.option(
  fc.uniqueArray(definition, { selector: ({ function: { name } }) => name, minLength: 1 }),
  { nil: undefined },
)

test('whatever the layers and the token hold, what is listed is called as explain tells it, and nothing else is', async () => {
  await fc.assert(
    fc.asyncProperty(layer, layer, layer, granted, async (user, global, file, wanted) => {
      const layers: { [L in Layer]: ToolDefinition[] } = { user, global, file }
      const whole = catalogView(layers)
      const grant =
        wanted && grantOf(wanted.map((it) => ({ name: it.function.name, digest: definitionDigest(it) })))
      const view = grant ? whole.narrowedTo(grant) : whole
      const principal: Principal = grant
        ? { kind: 'job', uid: 'ann', isAdmin: false, grant, workflowId: 'w' }
        : ANN
      const listed = new Map([...view.entries()].map((entry) => [entry.name, entry]))
      const means = (name: string) =>
        listed.get(name) ?? [...listed.values()].find((entry) => aliasOf(entry.name) === name)

      for (const name of [...NAMES, ...OUTSIDE]) {
        const { invoker, ran } = invokerOver(view)
        const { result } = await invoker.invoke({ principal, read: ask(name), signal: SIGNAL })
        const explained = atOnce(explainName(view, name))
        const entry = means(name)
        expect(explained.visible).toBe(entry !== undefined)
        expect(result.meta.tool).toBe(entry?.name ?? null)
        expect(result.meta.digest).toBe(entry?.digest ?? null)
        const isRun = result.resultType === 'success'
        expect(isRun).toBe(explained.callable === 'service')
        // What was run is what is listed: this digest's module, or the built-in tool.
        if (isRun) expect(result.textResultForLlm).toBe(ran[0]?.sha256 ?? 'echoed')
        expect(ran.map(({ tool }) => tool)).toEqual(
          isRun && result.textResultForLlm !== 'echoed' ? [entry?.name] : [],
        )
        if (result.resultType === 'failure' && !entry)
          expect(['TOOL_NOT_FOUND', 'PERMISSION_DENIED', 'DIGEST_CHANGED']).toContain(result.code)
        if (result.resultType === 'failure' && entry)
          expect(result.code).toBe(explained.callable === 'client' ? 'RUNS_AT_CLIENT' : 'KIND_NOT_SERVED')

        const call = { type: 'tool_use', id: 'c', name, input: { text: 'echoed' } }
        const dispatched = await dispatch(
          invoker,
          { principal, headers: NO_HEADERS, signal: SIGNAL },
          parseCalls([call]),
          HELD.begin('ann'),
        )
        const kind = entry?.workflowName === undefined ? 'client' : 'workflow'
        expect(dispatched.pending.map((call) => call.kind)).toEqual(
          explained.callable === 'client' ? [kind] : [],
        )
        const [{ result: same } = { result: null }] = dispatched.results
        if (explained.callable !== 'client')
          expect(same).toEqual({
            ...result,
            meta: { ...result.meta, invocationId: expect.any(String), executionTimeMs: expect.any(Number) },
          })
      }
    }),
    { numRuns: 60 },
  )
}, 60_000)
