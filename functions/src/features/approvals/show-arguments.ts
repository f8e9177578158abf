import type { JsonObject } from '@toolrack/contract'
import type { Principal } from '../../access/principal.ts'
import { redact, REDACTED, redactText } from '../../redaction/redact.ts'
import { marksOf } from '../../redaction/sensitive.ts'
import type { ListedCatalog } from '../../catalog/views/listed-catalog.ts'
import type { SecretsFor } from '../secrets/load-secrets.ts'
import type { Approval, ApprovalArguments } from './approval.ts'

export type ShowArguments = (
  principal: Principal,
  approval: Pick<Approval, 'tool' | 'digest'> & { readonly arguments: ApprovalArguments },
) => Promise<{ readonly arguments: JsonObject; readonly editedArguments?: JsonObject }>

/** Returns a function that shows the arguments of an approval to the user who decides. Their secrets are removed. */
export function showArguments({
  catalog,
  secretsFor,
}: {
  readonly catalog: ListedCatalog
  readonly secretsFor?: SecretsFor | undefined
}): ShowArguments {
  return async (principal, { tool, digest, arguments: { sent, edited } }) => {
    const entry = (await catalog.view(principal)).meaning(tool)
    const marks = entry?.digest === digest ? marksOf(entry.stored) : undefined
    // If the definition has changed since the call, it is not known which arguments it marked as sensitive.
    const stored = marks && entry && (await secretsFor?.(principal, entry))?.stored
    const shown = (args: JsonObject): JsonObject =>
      marks ? (redact(stored?.withoutInObject(args) ?? args, marks) as JsonObject) : allRedacted(args)
    return { arguments: shown(sent), ...(edited && { editedArguments: shown(edited) }) }
  }
}

function allRedacted(args: JsonObject): JsonObject {
  return Object.fromEntries(Object.keys(args).map((name) => [redactText(name), REDACTED]))
}
