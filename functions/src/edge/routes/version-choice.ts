import type { JsonObject } from '@toolrack/contract'
import { ToolrackError } from '@toolrack/contract'

/** The body of a rollback: one version, by the digest that is called `digestField` there or by its revision. */
export function versionChoice<Field extends string>(
  body: JsonObject,
  digestField: Field,
  shape: string,
): { readonly [field in Field]: string } | { readonly revision: string } {
  const { [digestField]: digest, revision, ...rest } = body
  const isOne = (digest === undefined) !== (revision === undefined) && Object.keys(rest).length === 0
  if (isOne && typeof digest === 'string')
    return { [digestField]: digest } as { readonly [field in Field]: string }
  if (isOne && typeof revision === 'string') return { revision }
  throw new ToolrackError(
    'BODY_INVALID',
    `The body must be {"${digestField}": "${shape}"} or {"revision": "…"}, as GET …/versions shows them.`,
  )
}
