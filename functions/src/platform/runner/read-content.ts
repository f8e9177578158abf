import type { MadeContent } from '../../catalog/definitions/runner.ts'

/** The most bytes of the images and files in one result together. The runner has the same limit. It keeps answers small. */
export const CONTENT_BYTES_MAX = 8 * 1024 * 1024

/** The most images and files in one result. The runner has the same limit. */
export const CONTENT_PARTS_MAX = 16

/** The most UTF-16 code units of a name. The runner allows 255 characters, and each of them has one or two code units. */
const NAME_LENGTH_MAX = 510

/** A media type without parameters, in lower case (RFC 6838). */
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/

const CONTROL = /\p{Cc}/u

/**
 * Reads the images and files in the answer to a call. An empty list if there are none. Undefined if they are not valid, or more
 * than a result may have. A tool decides their bytes, names and types, so nothing more is known about them.
 */
export function readContent(value: unknown): readonly MadeContent[] | undefined {
  if (value === undefined) return []
  if (!Array.isArray(value) || value.length > CONTENT_PARTS_MAX) return undefined
  const made: MadeContent[] = []
  let bytes = 0
  for (const each of value as readonly unknown[]) {
    const part = partOf(each)
    if (!part) return undefined
    bytes += part.bytes.length
    if (bytes > CONTENT_BYTES_MAX) return undefined
    made.push(part)
  }
  return made
}

function partOf(value: unknown): MadeContent | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { type, mimeType, name, data } = value as Readonly<Record<string, unknown>>
  if (type !== 'image' && type !== 'file') return undefined
  if (typeof mimeType !== 'string' || !MEDIA_TYPE.test(mimeType)) return undefined
  if (type === 'image' && !mimeType.startsWith('image/')) return undefined
  if (typeof name !== 'string' || name === '' || name.length > NAME_LENGTH_MAX || CONTROL.test(name))
    return undefined
  const bytes = typeof data === 'string' ? bytesOf(data) : undefined
  return bytes && { type, mimeType, name, bytes }
}

/** The bytes of a text in base64. Undefined if the text is no base64. */
function bytesOf(base64: string): Uint8Array | undefined {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  const bytes = Buffer.from(base64, 'base64')
  // Node leaves out characters that are no base64, so the length tells whether there are any.
  return bytes.length === (base64.length / 4) * 3 - padding ? bytes : undefined
}
