import { toolFailure, type ToolrackError } from '@toolrack/contract'
import { GrantsPending } from '../catalog/views/why-pending.ts'
import { outcomeOf, type CallOutcome, type Known } from './call.ts'

/** The outcome of a call that ends with this error. Only a program, and not the model, learns how to give a missing consent. */
export function outcomeOfRefusal(call: Known, error: ToolrackError): CallOutcome {
  const failure = toolFailure(error.code, error.message)
  if (!(error instanceof GrantsPending)) return outcomeOf(call, failure)
  const { consent, textForModel } = error
  return { ...outcomeOf(call, { ...failure, textResultForLlm: textForModel }), consent }
}
