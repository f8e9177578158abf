import { aliasOf, ToolrackError, type Digest } from '@toolrack/contract'
import type { Grant } from './principal.ts'

/** A principal. Without a grant they see everything in their catalog. */
type Viewer = { readonly grant?: Grant | undefined }

/** A tool with its present digest, or without a digest a tool with any definition. */
type ViewedTool = { readonly name: string; readonly digest?: Digest }

/** Whether they may see it; if not, the code and the reason for the caller of the tool. */
type Visibility = { readonly allowed: true } | ReturnType<typeof hidden>

const ALLOWED: Visibility = { allowed: true }

/**
 * Decides which tools of the catalog a principal sees and may call. A view of the catalog asks this when it is made, so that
 * the list, explain, invoke and dispatch agree. A grant shows a tool while it has the digest that the grant names.
 */
export function maySee({ grant }: Viewer, { name, digest }: ViewedTool): Visibility {
  if (!grant) return ALLOWED
  const granted = grant.tools.get(name)
  if (granted === undefined) return notNamed(name)
  return digest === undefined || digest === granted ? ALLOWED : changed(name)
}

/** The error for a name or alias that the grant does not name. Undefined without a grant, or if it names the tool. */
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

/** The answer for a tool whose digest is no longer the one that the token names. */
export function changed(name: string) {
  return hidden(
    'DIGEST_CHANGED',
    `${name} has changed since the token of this job was made; nothing was run.`,
  )
}

function hidden(code: 'PERMISSION_DENIED' | 'DIGEST_CHANGED', reason: string) {
  return { allowed: false, code, reason } as const
}
