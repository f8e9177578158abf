import { ToolrackError } from '@toolrack/contract'
import type { Precondition } from '../../tools/definitions/definition-change.ts'

const LIST = /^\s*(?:W\/)?"[^"]*"(?:\s*,\s*(?:W\/)?"[^"]*")*\s*$/
const TAG = /"([^"]*)"/g

/** The tags of an `If-Match` or `If-None-Match` header, without quotes. A weak mark, which a proxy may add, is ignored. */
function entityTags(header: string | undefined, name: string): '*' | ReadonlySet<string> | undefined {
  if (header === undefined) return undefined
  if (header.trim() === '*') return '*'
  if (!LIST.test(header))
    throw new ToolrackError('HEADER_INVALID', `${name} must be * or quoted entity tags, such as "sha256:…".`)
  return new Set(Array.from(header.matchAll(TAG), ([, tag]) => tag ?? ''))
}

/** The preconditions of a write. A header that is not valid is an error, because ignoring it could destroy something. */
export function preconditionOf(headers: {
  'if-match'?: string | undefined
  'if-none-match'?: string | undefined
}): Precondition {
  const ifMatch = entityTags(headers['if-match'], 'If-Match')
  const ifNoneMatch = entityTags(headers['if-none-match'], 'If-None-Match')
  return { ...(ifMatch && { ifMatch }), ...(ifNoneMatch && { ifNoneMatch }) }
}

/** Whether the reader already has this version. A header that is not valid means no. */
export function isNotModified(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  if (header === etag || header.trim() === '*') return true
  return LIST.test(header) && Array.from(header.matchAll(TAG), ([, tag]) => `"${tag}"`).includes(etag)
}
