import type { ByteRange } from './artifact-bytes.ts'

/** One range of bytes, as the header `Range` has it (RFC 9110, 14.1.2). 15 digits are always exact numbers. */
const ONE_RANGE = /^bytes=(?:(\d{1,15})-(\d{1,15})?|-(\d{1,15}))$/

/**
 * The part of a content of `bytes` bytes that a request asks for. `whole` if the header is missing, has several ranges or another
 * form: a server may answer these with everything. `none` if the content has no such part.
 */
export function requestedRange(header: string | undefined, bytes: number): ByteRange | 'whole' | 'none' {
  const [found, first, last, suffix] = ONE_RANGE.exec(header?.trim() ?? '') ?? []
  if (found === undefined) return 'whole'
  if (suffix !== undefined) {
    const length = Math.min(Number(suffix), bytes)
    return length === 0 ? 'none' : { start: bytes - length, end: bytes - 1 }
  }
  const start = Number(first)
  const end = last === undefined ? bytes - 1 : Math.min(Number(last), bytes - 1)
  // A range that ends before it begins is no range, so the header is ignored.
  if (last !== undefined && Number(last) < start) return 'whole'
  return start < bytes ? { start, end } : 'none'
}
