import { ToolrackError, toolResult, type JsonObject } from '@toolrack/contract'
import { randomUUID } from 'node:crypto'
import type { Principal } from '../../access/principal.ts'
import type { Log } from '../../log.ts'
import { outcomeOf, type Resolved } from '../../calls/call.ts'
import { makeArgumentsCanonical } from '../../calls/canonical-arguments.ts'
import { Onion, type Step } from '../../calls/onion.ts'
import { resolveTool } from '../../calls/pipeline/resolve-tool.ts'
import { readRequest, validateArguments, type DecideParts } from '../../calls/pipeline/steps.ts'
import { authoriseCall, type AuthoriseParts } from '../rules/authorise.ts'
import { marksOf } from '../../redaction/sensitive.ts'
import type { Sealing } from '../../calls/sealing.ts'
import { loadSecrets, type SecretsFor } from '../secrets/load-secrets.ts'
import type { Approval, ApprovalArguments } from './approval.ts'
import { argumentsToRun } from './edited-arguments.ts'

export type CheckEdited = (
  principal: Principal,
  approval: Pick<Approval, 'tool' | 'digest' | 'session'> & { readonly arguments: ApprovalArguments },
  edited: JsonObject,
) => Promise<JsonObject>

/**
 * Returns a function that resolves, authorizes and validates edited arguments as a call would. So a user who edits arguments sees
 * each fault before the decision is stored. The function resolves to the arguments, in which hidden secrets are put back. It
 * rejects with the error that a call would have. The call itself is authorized and validated again.
 */
export function checkEdited(
  parts: Omit<DecideParts, 'steps'> &
    AuthoriseParts & {
      readonly log: Log
      readonly sealing?: Sealing | undefined
      readonly secretsFor?: SecretsFor | undefined
    },
): CheckEdited {
  function stepsOf(kept: ApprovalArguments) {
    const putBack: Step<Resolved> = (call, next) => {
      const { entry, request, secrets } = call
      const marks = marksOf(entry.stored)
      const args = argumentsToRun(request.arguments, kept, marks, parts.sealing, secrets?.stored)
      return next({ ...call, request: { ...request, arguments: args } })
    }
    return Onion.withoutSteps({ log: parts.log, countAfterNext: () => undefined })
      .step('read the request', readRequest)
      .step('resolve the tool', resolveTool(parts))
      .optional('load the secrets', parts.secretsFor && loadSecrets(parts.secretsFor))
      .step('put back what was not shown', putBack)
      .step('make the arguments canonical', makeArgumentsCanonical)
      .step('authorise the call', authoriseCall(parts))
      .step('validate the arguments', validateArguments(parts))
      .run('check the arguments', (call) => Promise.resolve(outcomeOf(call, toolResult(null))))
  }
  return async (principal, { tool: name, digest: expectedDigest, session, arguments: kept }, edited) => {
    const { result, call } = await stepsOf(kept)({
      invocationId: randomUUID(),
      parentInvocationId: null,
      principal,
      sessionId: session?.id,
      headers: { idempotencyKey: undefined, traceparent: undefined },
      read: () => ({ name, arguments: edited, context: {}, expectedDigest }),
      signal: new AbortController().signal,
      isDryRun: false,
      isHeard: false,
      emit: () => undefined,
      pipeline: { invoke: () => Promise.reject(new Error('a check makes no calls')) },
    })
    if (result.resultType === 'failure') throw new ToolrackError(result.code, result.error)
    return call.request?.arguments ?? edited
  }
}
