import { toolFailure, toolResult, ToolrackError } from '@toolrack/contract'
import type { HowRun } from '../catalog/how-run.ts'
import type { Call, Outcome } from './call.ts'
import { deadlineOf } from './deadline-of.ts'
import type { InvokeParts } from './invoke-parts.ts'
import { ISOLATION_LEVELS } from './runner.ts'
import type { IsolationLevel, RunnerOutcome } from './runner.ts'

/** Has the runner run it, for this caller alone: the tenant is who calls, whoever has written the module. */
export async function runPython(
  call: Call,
  { module, sha256, network }: HowRun & { by: 'python' },
  { runner, sourceOf, deadlineMsMax }: InvokeParts,
): Promise<Outcome> {
  const { entry, principal, request, invocationId, limits, signal } = call
  const outcome = await runner.invoke({
    module,
    sha256,
    tool: entry.name,
    arguments: request.arguments,
    context: request.context,
    tenant: principal.uid,
    invocationId,
    deadlineMs: deadlineOf(limits, deadlineMsMax),
    network,
    minIsolation: minIsolationOf(call),
    source: () => sourceOf({ layer: entry.layer, uid: principal.uid }, sha256),
    signal,
  })
  return normalised(outcome)
}

/** What only a later version measures can not be promised by this one. */
function minIsolationOf({ limits, entry }: Call): IsolationLevel | undefined {
  const { minIsolation } = limits
  if (minIsolation === undefined) return undefined
  const level = ISOLATION_LEVELS.find((known) => known === minIsolation)
  if (!level)
    throw new ToolrackError(
      'ISOLATION_UNAVAILABLE',
      `${entry.name} asks for a level of isolation that is none of ${ISOLATION_LEVELS.join(', ')}; nothing was run.`,
    )
  return level
}

function normalised(outcome: RunnerOutcome): Outcome {
  const { isolation = null, usage = null, log = null } = outcome
  const facts = { isolation, usage, log, executionTimeMs: 0 }
  if ('returned' in outcome)
    return { ...facts, result: toolResult(outcome.returned, outcome.json), retryAfterSeconds: null }
  const { code, error, retryAfterSeconds = null } = outcome
  return { ...facts, result: toolFailure(code, error), retryAfterSeconds }
}
