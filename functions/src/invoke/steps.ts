import { authoriseCall } from '../access/visible.ts'
import type { Call, Outcome } from './call.ts'
import type { InvokeParts } from './invoke-parts.ts'
import { keepLog } from './keep-log.ts'
import { boundResult, runTool } from './run-tool.ts'
import { validateArguments } from './validate-arguments.ts'

/** One stage of a call: it may refuse it, run it, or change what came of it. Without any of them it waits for its work. */
export type Step = {
  readonly name: string
  /** Throws a ToolrackError to end the call. */
  readonly before?: (call: Call, parts: InvokeParts) => void | Promise<void>
  readonly run?: (call: Call, parts: InvokeParts) => Promise<Outcome>
  readonly after?: (outcome: Outcome, call: Call, parts: InvokeParts) => Outcome | Promise<Outcome>
}

/** The order of one call, between the look-up of its tool and the answer. */
export const STEPS: readonly Step[] = [
  { name: 'authorise', before: ({ principal, entry }) => authoriseCall(principal, entry) },
  { name: 'idempotency' },
  { name: 'quota' },
  { name: 'permissions' },
  { name: 'validate arguments', before: validateArguments },
  { name: 'run', run: runTool },
  { name: 'redact' },
  { name: 'spill', after: boundResult },
  { name: 'keep the log', after: keepLog },
  { name: 'audit and count' },
]
