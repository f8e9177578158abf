/** The bytes of a file that are read before other work may run. */
const STEP = 32 * 1024

/** How bytes are read as text: in an encoding of the WHATWG, from the first or the second byte. */
export type Reading = { readonly encoding: string; readonly from: 0 | 1 }

/** The readings that find a text in UTF-16 at any place. Two bytes are one code unit, so it may begin at an odd place. */
export const IN_UTF_16: readonly Reading[] = ['utf-16le', 'utf-16be'].flatMap((encoding) => [
  { encoding, from: 0 },
  { encoding, from: 1 },
])

/** The readings that find a text at any place of a file, in each encoding that programs usually write. */
export const IN_ANY_ENCODING: readonly Reading[] = [
  { encoding: 'utf-8', from: 0 },
  { encoding: 'latin1', from: 0 },
  ...IN_UTF_16,
]

/** The text that the bytes are in this reading, in parts. Bytes that are no text do not change the text after them. */
export function* read(bytes: Uint8Array, { encoding, from }: Reading): Generator<string, void, undefined> {
  const decoder = new TextDecoder(encoding, { ignoreBOM: true })
  for (let at = from; at < bytes.length; at += STEP)
    yield decoder.decode(bytes.subarray(at, at + STEP), { stream: true })
}
