import type { ErrorCode } from '@toolrack/contract'
import type { Authorised, CallOutcome } from '../../calls/call.ts'
import { printedFilter } from '../../redaction/known-secrets.ts'
import { marksOf } from '../../redaction/sensitive.ts'
import { askAboutFailure, type ApprovalStepParts } from '../approvals/approval-steps.ts'

/** The most characters of an error that a person who is asked reads: enough for the last line of a traceback. */
const REASON_CHARACTERS_MAX = 500

/**
 * Asks the user whether the tool of a failed call may be called again. Returns the approval, and a message for the caller, who
 * gets the whole error. Undefined where no approvals are kept. Throws as `askAboutFailure` does.
 */
export async function askPerson(
  parts: ApprovalStepParts,
  call: Authorised,
  { code, error }: { readonly code: ErrorCode; readonly error: string },
): Promise<
  { readonly approval: NonNullable<CallOutcome['approval']>; readonly message: string } | undefined
> {
  const { entry, request } = call
  const shown = printedFilter(request.arguments, marksOf(entry.stored), request.context)(error)
  const reason = `The tool has failed (${code}), and an approval calls it again. It said: ${oneLine(shown)}`
  const approval = await askAboutFailure(parts, call, { code, reason })
  if (!approval) return undefined
  const { id, expiresAt } = approval
  const waits = `${entry.name} has failed (${code}), and waits until ${expiresAt} for a user who may have it called again`
  return { approval: { id, expiresAt }, message: `${waits}. ${error}` }
}

/** The end of a text in one line, without control characters, so that it cannot pretend to be something else. */
function oneLine(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim()
  return line.length > REASON_CHARACTERS_MAX ? `…${line.slice(-REASON_CHARACTERS_MAX)}` : line
}
