import { ToolrackError, toolResult, type JsonObject } from '@toolrack/contract'
import { randomUUID } from 'node:crypto'
import type { Principal } from '../../access/principal.ts'
import type { Log } from '../../log.ts'
import { outcomeOf } from '../pipeline/call.ts'
import { Onion } from '../pipeline/onion.ts'
import { resolveTool } from '../pipeline/resolve-tool.ts'
import { readRequest, validateArguments, type StepParts } from '../pipeline/steps.ts'
import { authoriseCall } from '../rules/authorise.ts'
import type { Approval } from './approval.ts'

export type CheckEdited = (
  principal: Principal,
  approval: Pick<Approval, 'tool' | 'digest' | 'session'>,
  args: JsonObject,
) => Promise<void>

/**
 * Returns a function that resolves, authorises and validates edited arguments as a call would, so that a user who edits learns at
 * once what is wrong. It rejects with the error of the call. The call itself does all of this again.
 */
export function checkEdited(
  parts: Pick<StepParts, 'catalog' | 'sessions' | 'ruleBook' | 'validator'> & { readonly log: Log },
): CheckEdited {
  const steps = Onion.withoutSteps({ log: parts.log, countAfterNext: () => undefined })
    .step('read the request', readRequest)
    .step('resolve the tool', resolveTool(parts))
    .step('authorise the call', authoriseCall(parts))
    .step('validate the arguments', validateArguments(parts))
    .run('check the arguments', (call) => Promise.resolve(outcomeOf(call, toolResult(null))))
  return async (principal, { tool: name, digest: expectedDigest, session }, args) => {
    const { result } = await steps({
      invocationId: randomUUID(),
      parentInvocationId: null,
      principal,
      sessionId: session?.id,
      headers: { idempotencyKey: undefined, traceparent: undefined },
      read: () => ({ name, arguments: args, context: {}, expectedDigest }),
      signal: new AbortController().signal,
      isDryRun: false,
      isHeard: false,
      emit: () => undefined,
      pipeline: { invoke: () => Promise.reject(new Error('a check makes no calls')) },
    })
    if (result.resultType === 'failure') throw new ToolrackError(result.code, result.error)
  }
}
