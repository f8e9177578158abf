import { ToolrackError } from '@toolrack/contract'
import type { IncomingHttpHeaders } from 'node:http'
import type { Precondition } from '../precondition.ts'

const LIST = /^\s*(?:W\/)?"[^"]*"(?:\s*,\s*(?:W\/)?"[^"]*")*\s*$/
const TAG = /"([^"]*)"/g

/**
 * The entity tags in the value of a header, without quotes. The prefix `W/` of a weak tag is ignored, because a proxy may have
 * added it.
 */
function entityTags(header: string | undefined, name: string): '*' | ReadonlySet<string> | undefined {
  if (header === undefined) return undefined
  if (header.trim() === '*') return '*'
  if (!LIST.test(header))
    throw new ToolrackError('HEADER_INVALID', `${name} must be * or quoted entity tags, such as "sha256:…".`)
  return new Set(Array.from(header.matchAll(TAG), ([, tag]) => tag ?? ''))
}

/**
 * The preconditions in the headers of a write. A header that is not valid is an error: without its precondition, the write could
 * overwrite something.
 */
export function preconditionOf(headers: IncomingHttpHeaders): Precondition {
  const ifMatch = entityTags(headers['if-match'], 'If-Match')
  const ifNoneMatch = entityTags(headers['if-none-match'], 'If-None-Match')
  return { ...(ifMatch && { ifMatch }), ...(ifNoneMatch && { ifNoneMatch }) }
}

/** True if the header `If-None-Match` contains the tag. False if the header is not valid. */
export function isNotModified(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  if (header === etag || header.trim() === '*') return true
  return LIST.test(header) && Array.from(header.matchAll(TAG), ([, tag]) => `"${tag}"`).includes(etag)
}
