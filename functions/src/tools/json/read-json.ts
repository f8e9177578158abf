import type { JsonValue } from '@toolrack/contract'
import { jsonPosition } from './json-position.ts'
import type { JsonFault } from './json-fault.ts'
import { JSON_DEPTH_MAX, scanJson, scanJsonInSteps } from './scan-json.ts'

export type ReadJson = { readonly value: JsonValue } | { readonly fault: JsonFault }

/**
 * Reads JSON bytes and refuses what JSON.parse lets pass or answers unclearly: a byte order mark, bytes that are not
 * UTF-8, no text at all, a key twice in one object, the key `__proto__`, and nesting beyond so many levels
 * outside schemas.
 */
export function readJson(bytes: Uint8Array, depthMax = JSON_DEPTH_MAX): ReadJson {
  const parsed = parse(bytes)
  if ('fault' in parsed) return parsed
  const fault = scanJson(parsed.text, depthMax)
  return fault ? { fault } : { value: parsed.value }
}

/** The same with pauses: `giveTurn` lets others go on. What cannot be divided is the parse itself, which comes first. */
export async function readJsonInSteps(
  bytes: Uint8Array,
  depthMax = JSON_DEPTH_MAX,
  giveTurn: () => Promise<void>,
): Promise<ReadJson> {
  const parsed = parse(bytes)
  if ('fault' in parsed) return parsed
  const steps = scanJsonInSteps(parsed.text, depthMax)
  for (;;) {
    const { done, value: fault } = steps.next()
    if (done) return fault ? { fault } : { value: parsed.value }
    await giveTurn()
  }
}

type Parsed = { readonly text: string; readonly value: JsonValue } | { readonly fault: JsonFault }

function parse(bytes: Uint8Array): Parsed {
  const text = decode(bytes)
  if (text === undefined) return refuse('is not UTF-8')
  if (text.startsWith('\uFEFF')) return refuse('starts with a byte order mark; send plain UTF-8')
  if (text.trim() === '') return refuse('is empty')
  try {
    return { text, value: JSON.parse(text) as JsonValue }
  } catch (error) {
    return refuse(`is not valid JSON ${jsonPosition(text, error)}`)
  }
}

function refuse(message: string): { readonly fault: JsonFault } {
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
