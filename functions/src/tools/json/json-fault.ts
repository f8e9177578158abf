import { jsonPointer } from '@toolrack/contract'

/** One thing wrong with JSON that somebody sent: a JSON Pointer to its place, and a sentence without its value. */
export type JsonFault = { readonly pointer: string; readonly message: string }

export type JsonPath = readonly (string | number)[]

export function faultAt(path: JsonPath, message: string): JsonFault {
  return { pointer: jsonPointer(path), message }
}
