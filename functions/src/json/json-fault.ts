import { jsonPointer, type SchemaPath } from '@toolrack/contract'

/** A fault in JSON that somebody sent: a JSON Pointer to the value, and a sentence that does not repeat the value. */
export type JsonFault = { readonly pointer: string; readonly message: string }

export function faultAt(path: SchemaPath, message: string): JsonFault {
  return { pointer: jsonPointer(path), message }
}
