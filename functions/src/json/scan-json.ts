import { atOnce, type Pieces } from '../loop-turn.ts'
import { faultAt, type JsonFault } from './json-fault.ts'

/** The most levels of a definition outside of its schemas. `admitSchema` checks how deep the schemas are. */
export const JSON_DEPTH_MAX = 32

/** The keys under which a tool can have its schema, in all shapes in which a definition may be sent. */
const SCHEMA_KEYS = new Set(['parameters', 'inputSchema', 'input_schema', 'parametersJsonSchema'])

const NO_KEYS: ReadonlySet<string> = new Set()

/** How many characters are scanned before other work may run. They take at most 3 ms. */
const STEP = 128 * 1024

type Frame = {
  readonly keys: Set<string> | undefined
  readonly inSchema: boolean
  /** The key or index of the member that is being read. */
  at: string | number
  expectsKey: boolean
}

/**
 * Finds the first fault that JSON.parse accepts. JSON.parse must have accepted the text before. This function is not recursive,
 * so any depth is safe. Without `depthMax`, the text contains definitions: it may have 32 levels, and more levels in schemas.
 */
export function scanJson(text: string, depthMax?: number): JsonFault | undefined {
  return atOnce(scanJsonInPieces(text, depthMax))
}

export function* scanJsonInPieces(text: string, sentMax?: number): Pieces<JsonFault | undefined> {
  const depthMax = sentMax ?? JSON_DEPTH_MAX
  // Only definitions have schemas. In the body of a call, the key `parameters` has no special meaning.
  const schemaKeys = sentMax === undefined ? SCHEMA_KEYS : NO_KEYS
  const frames: Frame[] = []
  function fault(message: string): JsonFault {
    const path = frames.slice(0, depthMax).map(({ at }) => at)
    return faultAt(path, message)
  }

  let stepEnd = STEP
  for (let index = 0; index < text.length; index += 1) {
    if (index >= stepEnd) {
      yield undefined
      stepEnd = index + STEP
    }
    const char = text[index]
    const frame = frames.at(-1)
    if (char === '"') {
      const end = stringEnd(text, index)
      if (frame?.keys && frame.expectsKey) {
        const key = JSON.parse(text.slice(index, end + 1)) as string
        frame.at = key
        frame.expectsKey = false
        if (key === '__proto__') return fault('holds the key __proto__, which is never allowed')
        if (frame.keys.has(key)) return fault('holds the same key twice; which of them counts is unclear')
        frame.keys.add(key)
      }
      index = end
    } else if (char === ',' && frame) {
      if (frame.keys) frame.expectsKey = true
      else frame.at = Number(frame.at) + 1
    } else if (char === '{' || char === '[') {
      const inSchema = frame !== undefined && (frame.inSchema || schemaKeys.has(String(frame.at)))
      if (!inSchema && frames.length >= depthMax) return fault(`is nested deeper than ${depthMax} levels`)
      const isObject = char === '{'
      frames.push({
        keys: isObject ? new Set() : undefined,
        inSchema,
        at: isObject ? '' : 0,
        expectsKey: isObject,
      })
    } else if (char === '}' || char === ']') frames.pop()
    else if (char !== undefined && NUMBER_START.test(char)) {
      const end = numberEnd(text, index)
      if (!Number.isFinite(Number(text.slice(index, end))))
        return fault('holds a number that is too large to be read')
      index = end - 1
    }
  }
  return undefined
}

function stringEnd(text: string, start: number): number {
  let end = start + 1
  while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1
  return end
}

const NUMBER_START = /[-0-9]/
const NUMBER_PART = /[-+.0-9eE]/

function numberEnd(text: string, start: number): number {
  let end = start + 1
  while (NUMBER_PART.test(text[end] ?? '')) end += 1
  return end
}
