import { dropOmittedArguments, isJsonObject, isToolResult, toolFailure, toolResult } from '@toolrack/contract'
import type { JsonObject, ToolCall, ToolResult } from '@toolrack/contract'
import { inTime } from './in-time.ts'
import type { Runner } from './runner.ts'

const ARGUMENTS_FAULT =
  'The arguments are not one whole JSON object; send the call again with a name and a value for each.'

/** Runs one call in this program. An error becomes a failure. Rejects only with the reason of the caller's signal. */
export async function runLocally(
  runner: Runner,
  call: ToolCall,
  deadlineMs: number,
  caller: AbortSignal | undefined,
): Promise<ToolResult> {
  const { id, name } = call
  const args = argumentsOf(call, runner.definition?.function.parameters)
  if (!args) return toolFailure('ARGUMENTS_INVALID', `${name}: ${ARGUMENTS_FAULT}`)
  const late = new Error(`${name} did not end within ${deadlineMs} ms.`)
  try {
    const run = async (signal: AbortSignal): Promise<unknown> => runner.run(args, { id, name, signal })
    const returned = await inTime(deadlineMs, () => late, run, caller)
    return isToolResult(returned) ? returned : toolResult(returned ?? null)
  } catch (error) {
    caller?.throwIfAborted()
    if (error === late) return toolFailure('DEADLINE_EXCEEDED', late.message)
    const thrown = error instanceof Error ? `${error.name}: ${error.message}` : `threw ${typeof error}`
    return toolFailure('TOOL_RAISED', `${name}: ${thrown}`)
  }
}

/** The arguments of a call, or undefined if they are not a JSON object. An empty text means no arguments. */
function argumentsOf(
  { arguments: sent, nullMeansOmitted }: ToolCall,
  parameters: JsonObject | undefined,
): JsonObject | undefined {
  try {
    const value: unknown = 'value' in sent ? sent.value : JSON.parse(sent.text.trim() || '{}')
    if (!isJsonObject(value)) return undefined
    return parameters && nullMeansOmitted ? dropOmittedArguments(parameters, value) : value
  } catch {
    return undefined
  }
}
