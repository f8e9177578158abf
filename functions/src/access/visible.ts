import { aliasOf, ToolrackError, type Digest } from '@toolrack/contract'
import type { Grant } from './principal.ts'

/** A principal. Without a grant, the principal sees every tool of the catalog. */
type Viewer = { readonly grant?: Grant | undefined }

/** A tool that a principal wants to see. Without `digest`, only its name is compared with the grant. */
type ViewedTool = { readonly name: string; readonly digest?: Digest }

/** Whether the viewer may see a tool. If not, it has the error code and the reason for a caller of the tool. */
type Visibility = { readonly allowed: true } | ReturnType<typeof hidden>

const ALLOWED: Visibility = { allowed: true }

/**
 * Decides whether a principal sees a tool of the catalog and may call it. With a grant, the tool must be named in the grant, and
 * must still have the digest that the grant has for it. Every view of the catalog is filtered by this rule, so that the list,
 * explain, invoke and dispatch agree.
 */
export function maySee({ grant }: Viewer, { name, digest }: ViewedTool): Visibility {
  if (!grant) return ALLOWED
  const granted = grant.tools.get(name)
  if (granted === undefined) return notNamed(name)
  return digest === undefined || digest === granted ? ALLOWED : changed(name)
}

/** The error for a name or alias that the grant does not name. Undefined if there is no grant, or if the grant names the tool. */
export function whyNotCalled({ grant }: Viewer, nameOrAlias: string): ToolrackError | undefined {
  if (!grant || grant.tools.has(nameOrAlias)) return undefined
  if ([...grant.tools.keys()].some((name) => aliasOf(name) === nameOrAlias)) return undefined
  return refusalOf(notNamed(nameOrAlias))
}

export function refusalOf({ code, reason }: ReturnType<typeof hidden>): ToolrackError {
  return new ToolrackError(code, reason)
}

function notNamed(name: string) {
  return hidden('PERMISSION_DENIED', `The token of this job does not name the tool ${name}.`)
}

/** The refusal of a tool whose digest is no longer the one in the token. */
export function changed(name: string) {
  return hidden(
    'DIGEST_CHANGED',
    `${name} has changed since the token of this job was made; nothing was run.`,
  )
}

function hidden(code: 'PERMISSION_DENIED' | 'DIGEST_CHANGED', reason: string) {
  return { allowed: false, code, reason } as const
}
