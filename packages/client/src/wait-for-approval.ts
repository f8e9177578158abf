import type { JsonObject, ToolResult } from '@toolrack/contract'
import { optionInvalid, ServiceError, timedOut, ToolsError } from './errors.ts'
import { inTime, orAborted } from './in-time.ts'
import { pause } from './retry.ts'
import { withNetworkErrors, type Service } from './service.ts'

/** The approval that a call waits for. `expiresAt` is RFC 3339, UTC. */
export type AskedApproval = { readonly id: string; readonly expiresAt: string }

/** A call that waits for an approval. */
export type WaitingCall = AskedApproval & { readonly name: string; readonly arguments: JsonObject }

/**
 * Called when a call waits for a user's approval. Afterwards the client waits for the decision and then makes the call. The
 * function may return the decision. Then the client sends it to the service with its own token. If the function returns false,
 * the client does not wait.
 */
export type OnApproval = (
  call: WaitingCall,
) => ApprovalDecision | false | undefined | void | Promise<ApprovalDecision | false | undefined | void>

const DECISIONS = ['once', 'session', 'always', 'deny'] as const

export type ApprovalDecision = (typeof DECISIONS)[number]

/** The milliseconds between two requests that ask for the decision. */
const PAUSE_MS = 1_000

/**
 * The most milliseconds for one request that asks for the decision. Without this limit, a dead connection would stop the call
 * forever.
 */
const QUESTION_DEADLINE_MS = 10_000

/**
 * The most milliseconds that the client waits for a decision, even if the service cannot be reached. After 15 minutes a pending
 * approval expires.
 */
const WAIT_MS_MAX = 16 * 60_000

/**
 * Waits until the approval is decided, or has expired. True if the call should be made now. The result of the call then tells the
 * decision.
 */
export async function waitForApproval(
  service: Service,
  call: WaitingCall,
  onApproval: OnApproval,
  caller: AbortSignal | undefined,
): Promise<boolean> {
  const decision = await orAborted(caller, Promise.resolve(onApproval(call)))
  if (decision === false) return false
  if (decision !== undefined && !DECISIONS.includes(decision))
    throw optionInvalid(`onApproval must return one of ${DECISIONS.join(', ')}, or false, or nothing`)
  const path = `../approvals/${call.id}`
  const signal = caller ?? new AbortController().signal
  const endsMs = Date.now() + WAIT_MS_MAX
  if (decision) await orAborted(caller, decide(service, path, decision, signal))
  while (Date.now() < endsMs && (await isPending(service, path, signal))) await pause(PAUSE_MS, signal)
  return true
}

/** The approval for which a call waits, according to its result. Undefined if it waits for none. */
export function approvalIn(result: ToolResult): AskedApproval | undefined {
  const { meta } = result as { readonly meta?: { readonly approval?: AskedApproval } }
  return meta?.approval
}

async function decide(service: Service, path: string, decision: string, signal: AbortSignal): Promise<void> {
  const headers = { 'Content-Type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify({ decision }) }
  await service.ask(path, await service.token(), signal, () => init)
}

/**
 * True if the approval is pending, or if the service cannot be reached now. False if the service refuses the request. Then the
 * call is made, and fails with the reason.
 */
async function isPending(service: Service, path: string, caller: AbortSignal): Promise<boolean> {
  const question = async (signal: AbortSignal): Promise<string> => {
    const { response } = await service.ask(path, await service.token(), signal, () => ({ method: 'GET' }))
    const approval = await withNetworkErrors(signal, () => response.json() as Promise<{ status: string }>)
    return approval.status
  }
  try {
    const late = () => timedOut(QUESTION_DEADLINE_MS)
    return (await inTime(QUESTION_DEADLINE_MS, late, question, caller)) === 'pending'
  } catch (error) {
    if (error instanceof ServiceError) return true
    if (error instanceof ToolsError && error.code === 'SERVICE_REFUSED') return false
    throw error
  }
}
