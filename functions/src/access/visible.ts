import { aliasOf, ToolrackError } from '@toolrack/contract'
import type { Digest } from '@toolrack/contract'
import type { Grant } from './grant.ts'

/** Who looks, as far as it decides what they see; without a grant they see everything in their catalog. */
export type Looking = { readonly grant?: Grant | undefined }

/** What is looked at: a tool as it is now, or, without a digest, a tool whatever its definition. */
export type Looked = { readonly name: string; readonly digest?: Digest }

/** The answer to "may they see it?". The code and the reason are those of a call that is refused. */
export type Visibility =
  | { readonly allowed: true }
  | {
      readonly allowed: false
      readonly code: 'PERMISSION_DENIED' | 'DIGEST_CHANGED'
      readonly reason: string
    }

const ALLOWED: Visibility = { allowed: true }

/**
 * Decides what a principal sees of the catalog and may call. A view of the catalog asks when it is made, so the list, explain,
 * invoke and dispatch see the same tools. A grant shows a tool that it names while the tool has the digest that it names.
 */
export function maySee({ grant }: Looking, { name, digest }: Looked): Visibility {
  if (!grant) return ALLOWED
  const granted = grant.tools.get(name)
  if (granted === undefined) return notNamed(name)
  return digest === undefined || digest === granted ? ALLOWED : changed(name)
}

/** Why a name or alias that means no visible tool may not be called; undefined where nothing forbids it. */
export function whyNotCalled({ grant }: Looking, nameOrAlias: string): ToolrackError | undefined {
  if (!grant || grant.tools.has(nameOrAlias)) return undefined
  if ([...grant.tools.keys()].some((name) => aliasOf(name) === nameOrAlias)) return undefined
  return refusalOf(notNamed(nameOrAlias))
}

/** The error of a call that is not allowed. */
export function refusalOf({ code, reason }: Exclude<Visibility, { readonly allowed: true }>): ToolrackError {
  return new ToolrackError(code, reason)
}

function notNamed(name: string) {
  return {
    allowed: false,
    code: 'PERMISSION_DENIED',
    reason: `The token of this job does not name the tool ${name}.`,
  } as const
}

/** The answer for a tool whose definition is no longer the one that the token names. */
export function changed(name: string) {
  return {
    allowed: false,
    code: 'DIGEST_CHANGED',
    reason: `${name} has changed since the token of this job was made; nothing was run.`,
  } as const
}
