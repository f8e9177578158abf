import type { Call, Outcome } from './call.ts'
import type { InvokeParts } from './invoke-parts.ts'

/** Keeps what the tool printed, if it did. A log that can not be kept is no fault of the call. */
export async function keepLog(
  outcome: Outcome,
  call: Call,
  { logs, log, now }: InvokeParts,
): Promise<Outcome> {
  const { log: printed } = outcome
  if (printed === null || printed.text === '') return outcome
  const { invocationId, entry, principal } = call
  try {
    const at = new Date(now()).toISOString()
    await logs.keep(principal.uid, { invocationId, tool: entry.name, at, ...printed })
  } catch (error) {
    log.warn('log of a call could not be kept', { invocationId, reason: (error as Error).message })
  }
  return outcome
}
