import type { JsonValue } from '@toolrack/contract'
import { jsonPosition } from './json-position.ts'
import type { JsonFault } from './json-fault.ts'
import { JSON_DEPTH_MAX, scanJson } from './scan-json.ts'

export type ReadJson = { readonly value: JsonValue } | { readonly fault: JsonFault }

/**
 * Reads JSON bytes and refuses what JSON.parse lets pass or answers unclearly: a byte order mark, bytes that are not
 * UTF-8, no text at all, a key twice in one object, the key `__proto__`, and nesting beyond so many levels
 * outside schemas.
 */
export function readJson(bytes: Uint8Array, depthMax = JSON_DEPTH_MAX): ReadJson {
  const text = decode(bytes)
  if (text === undefined) return refuse('is not UTF-8')
  if (text.startsWith('\uFEFF')) return refuse('starts with a byte order mark; send plain UTF-8')
  if (text.trim() === '') return refuse('is empty')
  let value: JsonValue
  try {
    value = JSON.parse(text) as JsonValue
  } catch (error) {
    return refuse(`is not valid JSON ${jsonPosition(text, error)}`)
  }
  const fault = scanJson(text, depthMax)
  return fault ? { fault } : { value }
}

function refuse(message: string): ReadJson {
  return { fault: { pointer: '', message } }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes)
  } catch {
    return undefined
  }
}
