import { jsonPointer, type SchemaPath } from '@toolrack/contract'

/** One thing wrong with JSON that somebody sent: a JSON Pointer to its place, and a sentence without its value. */
export type JsonFault = { readonly pointer: string; readonly message: string }

export function faultAt(path: SchemaPath, message: string): JsonFault {
  return { pointer: jsonPointer(path), message }
}
