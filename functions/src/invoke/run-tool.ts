import { toolFailure, toolResult, ToolrackError } from '@toolrack/contract'
import type { Call, Outcome } from './call.ts'
import type { InvokeParts } from './invoke-parts.ts'
import { outcomeOf } from './failed-outcome.ts'
import { runPython } from './run-python.ts'

/** Runs the tool by what its definition names, or says why the service does not. */
export async function runTool(call: Call, parts: InvokeParts): Promise<Outcome> {
  const { howRun, entry, request } = call
  if (howRun.by === 'client')
    throw new ToolrackError('RUNS_AT_CLIENT', `${entry.name} is run by the client, not by the service.`)
  if (howRun.by === 'nobody')
    throw new ToolrackError('KIND_NOT_SERVED', `${entry.name} can not be run: ${howRun.reason}.`)
  const startedMs = performance.now()
  const outcome =
    howRun.by === 'python'
      ? await runPython(call, howRun, parts)
      : outcomeOf(toolResult(await howRun.builtin(request.arguments, { now: parts.now })))
  return { ...outcome, executionTimeMs: Math.round((performance.now() - startedMs) * 1_000) / 1_000 }
}

/** Until results can be kept as artifacts, what is larger than this is refused. */
export const RESULT_BYTES_MAX = 256 * 1024

/** A result that no conversation could take is told to be too large. */
export function boundResult(outcome: Outcome, { entry }: Call): Outcome {
  const { resultType, textResultForLlm: text } = outcome.result
  if (resultType === 'failure' || text.length * 3 <= RESULT_BYTES_MAX) return outcome
  const bytes = Buffer.byteLength(text)
  if (bytes <= RESULT_BYTES_MAX) return outcome
  const error = `The result of ${entry.name} has ${bytes} bytes, and ${RESULT_BYTES_MAX} are allowed; ask for less.`
  return { ...outcome, result: toolFailure('RESULT_TOO_LARGE', error) }
}
