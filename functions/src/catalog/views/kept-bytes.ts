/**
 * New memory for bytes that are kept, such as a list that is sent again. The usual buffers are parts of slabs of 64 KB, which stay in
 * memory as long as one part of them. So a usual buffer with a list of 3 KB would keep 64 KB.
 */
export function keptMemory(bytes: number): Buffer {
  return Buffer.allocUnsafeSlow(bytes)
}

/** The UTF-8 of a text, in memory of its own. */
export function keptBytes(text: string): Buffer {
  const bytes = keptMemory(Buffer.byteLength(text))
  bytes.write(text)
  return bytes
}
