import { toolFailure } from '@toolrack/contract'
import type { ErrorCode, InvocationResult, ToolDefinition } from '@toolrack/contract'
import type { Principal } from '../../functions/src/access/principal.ts'
import type { CallKeys } from '../../functions/src/features/once/idempotency-keys.ts'
import { EMPTY_BOOK } from '../../functions/src/features/rules/rules-in-force.ts'
import type { CallRequest, Invocation, ResultData } from '../../functions/src/calls/call.ts'
import { invokerOf, type CallParts } from './invoker-of.ts'
import { absentRunner } from '../../functions/src/catalog/definitions/runner.ts'
import type { RunnerCall, RunnerOutcome } from '../../functions/src/catalog/definitions/runner.ts'
import type { ArgumentValidator } from '../../functions/src/catalog/schemas/argument-validator.ts'
import { catalogView } from './catalog-view.ts'
import { tool } from './definition-changes.ts'

export const ANN: Principal = { kind: 'user', uid: 'ann', isAdmin: false }
export const MAIL = 'mail:send'

const USAGE = { wallMs: 1, cpuMs: 1, maxRssBytes: 1 }
const LOG = { text: 'printed', truncated: false }

/** What the runner answers to a call that it has run. */
export const RAN = { json: '{"sent": 1.0}', isolation: 'L2', usage: USAGE, log: LOG } as const

/** What the runner answers to a call that failed. `usage` says whether it has run something. */
export function failed(code: ErrorCode, hasRun: boolean): RunnerOutcome {
  const { error } = toolFailure(code, `It failed with ${code}.`) as { error: string }
  return { code, error, ...(hasRun && { isolation: 'L2', usage: USAGE, log: LOG }) }
}

const python = (name: string): ToolDefinition => ({
  ...tool(name, 'Sends a mail.'),
  runner: { kind: 'python', module: 'm', sha256: 'a'.repeat(64) },
})

/** An invoker over these keys, with a runner that counts what it runs. */
export function keyedCalls(
  keys: CallKeys,
  run: (call: RunnerCall) => RunnerOutcome | Promise<RunnerOutcome> = () => RAN,
  parts: Partial<CallParts> = {},
) {
  const ran: RunnerCall[] = []
  const logged: string[] = []
  const view = catalogView({ user: [python(MAIL), python('mail:other'), tool('atClient', 'Runs there.')] })
  const invoker = invokerOf({
    catalog: { view: () => view },
    validator: { validate: () => Promise.resolve({ faults: [] }) } as unknown as ArgumentValidator,
    runner: {
      ...absentRunner('None.'),
      invoke: async (call) => {
        ran.push(call)
        return run(call)
      },
    },
    sourceOf: () => Promise.resolve(undefined),
    logs: { keep: () => Promise.resolve() },
    keys,
    ruleBook: EMPTY_BOOK,
    log: { info: () => undefined, warn: () => undefined, error: (text) => logged.push(text) },
    now: Date.now,
    deadlineMsMax: Infinity,
    ...parts,
  })
  async function ask(key: string | undefined, more: Asked = {}): Promise<InvocationResult<ResultData>> {
    return (await asked(key, more)).result
  }
  function asked(
    key: string | undefined,
    { name = MAIL, args = {}, approval, principal = ANN, signal = new AbortController().signal }: Asked = {},
  ): Promise<Invocation> {
    const request: CallRequest = { name, arguments: args, context: {}, expectedDigest: undefined, approval }
    const headers = { idempotencyKey: key, traceparent: undefined }
    return invoker.invoke({ principal, headers, signal, read: () => request })
  }
  return { invoker, ran, logged, ask, asked }
}

type Asked = {
  readonly name?: string
  readonly args?: CallRequest['arguments']
  readonly approval?: string | undefined
  readonly principal?: Principal
  readonly signal?: AbortSignal
}
