import { isJsonObject, toolFailure, toolResult, withoutNulls } from '@toolrack/contract'
import type { JsonObject, ToolCall, ToolResult } from '@toolrack/contract'
import { inTime } from './in-time.ts'
import type { Runner } from './runner.ts'

/** Runs one call here. Whatever goes wrong is a failure that the model can act on; rejects only with the reason of the caller's signal. */
export async function runLocally(
  runner: Runner,
  { id, name, arguments: sent }: Pick<ToolCall, 'id' | 'name' | 'arguments'>,
  deadlineMs: number,
  caller: AbortSignal | undefined,
): Promise<ToolResult> {
  const args = argumentsOf(sent, runner.definition?.function.parameters)
  if (!args) return toolFailure('ARGUMENTS_INVALID', `${name}: ${ARGUMENTS_FAULT}`)
  const late = new Error(`${name} did not end within ${deadlineMs} ms.`)
  try {
    const run = async (signal: AbortSignal): Promise<unknown> => runner.run(args, { id, name, signal })
    const returned = await inTime(deadlineMs, () => late, run, caller)
    return isToolResult(returned) ? returned : toolResult(returned ?? null)
  } catch (error) {
    caller?.throwIfAborted()
    if (error === late) return toolFailure('DEADLINE_EXCEEDED', late.message)
    return toolFailure('TOOL_RAISED', `${name}: ${whatWasThrown(error)}`)
  }
}

const ARGUMENTS_FAULT =
  'The arguments are not one whole JSON object; send the call again with a name and a value for each.'

/**
 * Models write the arguments as a text, and not always as JSON; none at all means that there are none. Strict models write null for what
 * they leave out, which is taken out again where the parameters are known.
 */
function argumentsOf(
  sent: ToolCall['arguments'],
  parameters: JsonObject | undefined,
): JsonObject | undefined {
  try {
    const value: unknown = 'value' in sent ? sent.value : JSON.parse(sent.text.trim() || '{}')
    if (!isJsonObject(value)) return undefined
    return parameters && 'text' in sent ? withoutNulls(parameters, value) : value
  } catch {
    return undefined
  }
}

/** Whether a value is the result of a call already. */
export function isToolResult(value: unknown): value is ToolResult {
  if (!isJsonObject(value) || typeof value['textResultForLlm'] !== 'string') return false
  const { resultType, error } = value
  return resultType === 'success' || (resultType === 'failure' && typeof error === 'string')
}

function whatWasThrown(thrown: unknown): string {
  return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : `threw ${typeof thrown}`
}
