import type { JsonValue } from '@toolrack/contract'
import type { Pieces } from '../loop-turn.ts'
import { faultAt, type JsonFault } from './json-fault.ts'
import { scanJson, scanJsonInPieces } from './scan-json.ts'

export type ReadJson = { readonly value: JsonValue } | { readonly fault: JsonFault }

/**
 * Parses JSON strictly. Refuses a byte order mark, bytes that are not UTF-8, an empty text, the same key twice in one object, the
 * key `__proto__`, and too many levels. JSON.parse accepts these faults or reports them unclearly. `depthMax` is the most levels.
 * Without it, the JSON contains definitions, and 32 levels outside of schemas are allowed.
 */
export function readJson(bytes: Uint8Array, depthMax?: number): ReadJson {
  const parsed = parse(bytes)
  if ('fault' in parsed) return parsed
  const fault = scanJson(parsed.text, depthMax)
  return fault ? { fault } : { value: parsed.value }
}

/** Parses JSON like `readJson`, but lets other work run now and then. Only JSON.parse at the beginning runs in one piece. */
export function* readJsonInPieces(bytes: Uint8Array, depthMax: number | undefined): Pieces<ReadJson> {
  const parsed = parse(bytes)
  if ('fault' in parsed) return parsed
  yield
  const fault = yield* scanJsonInPieces(parsed.text, depthMax)
  return fault ? { fault } : { value: parsed.value }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function parse(bytes: Uint8Array): { text: string; value: JsonValue } | { fault: JsonFault } {
  let text: string | undefined
  try {
    text = UTF8.decode(bytes)
    if (text.startsWith('\uFEFF'))
      return { fault: faultAt([], 'starts with a byte order mark; send plain UTF-8') }
    if (text.trim() === '') return { fault: faultAt([], 'is empty') }
    return { text, value: JSON.parse(text) as JsonValue }
  } catch (error) {
    const message = text === undefined ? 'is not UTF-8' : `is not valid JSON ${placeOf(error, text)}`
    return { fault: faultAt([], message) }
  }
}

/** Where the first fault is, as "(line 3, column 7)". The message of V8 is not used, because it repeats a part of the text. */
function placeOf(error: unknown, text: string): string {
  const position = errorPosition(error, text) ?? firstFault(text)
  if (position >= text.length) return '(it ends too early)'
  const before = text.slice(0, position).split('\n')
  return `(line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`
}

/**
 * The position that V8's message names. Undefined for a message without a position, such as `Unexpected token 'N', "{"a":NaN}" is
 * not valid JSON`.
 */
function errorPosition(error: unknown, text: string): number | undefined {
  const { message } = error as Error
  const position = / at position (\d+)/.exec(message)?.[1]
  if (position !== undefined) return Number(position)
  return message === 'Unexpected end of JSON input' ? text.length : undefined
}

/**
 * The position of the first fault: the length of the longest beginning of the text that could still become JSON. A binary search
 * finds it.
 */
function firstFault(text: string): number {
  let low = 0
  let high = text.length
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (couldBecomeJson(text.slice(0, middle))) low = middle
    else high = middle - 1
  }
  return low
}

function couldBecomeJson(beginning: string): boolean {
  try {
    JSON.parse(beginning)
    return true
  } catch (error) {
    return (errorPosition(error, beginning) ?? -1) >= beginning.length
  }
}
