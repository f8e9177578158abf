import { aliasOf, isToolName } from '@toolrack/contract'
import type { JsonObject, ToolDefinition } from '@toolrack/contract'
import { ToolsError } from './tools-error.ts'

/** What a Runner is told of a call beside its arguments. */
export type RunnerContext = {
  /** The name by which the model called it, which may be the alias. */
  readonly name: string
  /** What the vendor pairs the answer with, where it sent one. */
  readonly id: string | undefined
  /** Aborted at the deadline, and when the caller has gone. */
  readonly signal: AbortSignal
}

/** A tool that runs here. */
export type Runner = {
  /** Exactly the `function.name` of the tool's definition. */
  readonly name: string
  /** The definition, where it is at hand: its `function.name` is compared when the dispatcher is made. */
  readonly definition?: Pick<ToolDefinition, 'function'> | undefined
  /**
   * Runs one call. A text is given to the model as it is, anything else as its JSON, and a ToolResult as what it says. What is thrown
   * becomes a failure that the model reads.
   */
  readonly run: (args: JsonObject, context: RunnerContext) => unknown
}

/** Finds a Runner by the exact name, else by the alias. Throws OPTION_INVALID where a name does not fit, or is there twice. */
export function runnersByName(runners: readonly Runner[]): ReadonlyMap<string, Runner> {
  const byName = new Map<string, Runner>()
  for (const [index, runner] of runners.entries()) {
    const { name, definition = { function: { name } } } = runner
    if (!isToolName(name)) throw unusable(index, 'no tool can have its name')
    if (byName.has(name)) throw unusable(index, `another one is named ${name}`)
    if (definition.function.name !== name)
      throw unusable(index, `it is named ${name}, and its definition otherwise`)
    byName.set(name, runner)
  }
  const aliases = runners.map((runner): [string, Runner] => [aliasOf(runner.name), runner])
  return new Map([...aliases, ...byName])
}

function unusable(index: number, fault: string): ToolsError {
  return new ToolsError('OPTION_INVALID', `Runner ${index} can not be used: ${fault}.`)
}
