import {
  isJsonObject,
  isToolrackError,
  type FallbackTool,
  type JsonObject,
  type JsonValue,
} from '@toolrack/contract'
import { isDeepStrictEqual } from 'node:util'
import type { Authorised, CallRequest } from '../../calls/call.ts'
import { callArguments } from '../../calls/pipeline/parse-call-request.ts'
import type { CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import { redact, REDACTED } from '../../redaction/redact.ts'
import { marksOf } from '../../redaction/sensitive.ts'

/** The most tools that fall back on each other in one call, with the tool that was called. */
const CHAIN_MAX = 4

/** The tool of a fallback and the request for it, or a sentence about why it is not called. */
export type PlannedFallback =
  { readonly target: CatalogEntry; readonly request: CallRequest } | { readonly refusal: string }

/**
 * Plans the call of a fallback. `failed` are the names of the tools that have failed, with the tool of `call` as the last one.
 * Whether the caller may call the fallback is not decided here, but by the steps of its own call.
 */
export function planFallback(
  call: Authorised,
  failed: readonly string[],
  fallback: FallbackTool,
): PlannedFallback {
  const target = call.view.meaning(fallback.name)
  if (!target) return { refusal: `${fallback.name} is not in the catalog.` }
  const { name } = target
  if (failed.includes(name)) {
    const circle = [...failed, name].join(' -> ')
    return {
      refusal: `${name} was not called again, because it has failed in this call already (${circle}).`,
    }
  }
  if (failed.length >= CHAIN_MAX)
    return { refusal: `${name} was not called: ${CHAIN_MAX} tools have failed one after the other.` }
  const { request } = call
  try {
    const args = callArguments(argumentsFor(fallback, request.arguments))
    const shown = shownByFallback(call, target, fallback, args)
    if (shown !== undefined)
      return {
        refusal: `${name} was not called: it would not keep the sensitive argument '${shown}' secret.`,
      }
    return { target, request: requestFor(target, request, args) }
  } catch (error) {
    if (!isToolrackError(error)) throw error
    return { refusal: `${name} was not called: ${error.message}` }
  }
}

/**
 * The request for a call of `target` in place of `request`. The call names no approval. It is refused if the definition of
 * `target` has changed meanwhile.
 */
export function requestFor(
  { name, digest: expectedDigest }: CatalogEntry,
  { context, dialect, editedIn }: CallRequest,
  args: JsonObject,
): CallRequest {
  return { name, arguments: args, context, dialect, expectedDigest, editedIn, approval: undefined }
}

/** The arguments of a fallback. Own arguments that were not sent are left out. */
function argumentsFor({ args }: FallbackTool, sent: JsonObject): JsonObject {
  if (!args) return sent
  const given = Object.entries(args).flatMap(([parameter, own]): (readonly [string, JsonValue])[] => {
    const value = Object.hasOwn(sent, own) ? sent[own] : undefined
    return value === undefined ? [] : [[parameter, value]]
  })
  return Object.fromEntries(given)
}

/**
 * The first parameter of the fallback that gets a secret which the records of the called tool hide, and which those of the
 * fallback would show. Undefined if there is none.
 */
function shownByFallback(
  { entry, secrets }: Authorised,
  target: CatalogEntry,
  { args }: FallbackTool,
  given: JsonObject,
): string | undefined {
  const [own, other] = [marksOf(entry.stored), marksOf(target.stored)]
  return Object.entries(given).find(([parameter, value]) => {
    const sent = { [args?.[parameter] ?? parameter]: value }
    const hidden = valueIn(redact(secrets?.stored.withoutInObject(sent) ?? sent, own))
    if (isDeepStrictEqual(hidden, value)) return false
    const shown = valueIn(redact({ [parameter]: value }, other))
    return shown !== REDACTED && !isDeepStrictEqual(shown, hidden)
  })?.[0]
}

/** The value of the only member. The redaction may have changed its name. */
function valueIn(object: JsonValue): JsonValue | undefined {
  return isJsonObject(object) ? Object.values(object)[0] : REDACTED
}
