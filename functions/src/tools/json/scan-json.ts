import { jsonPointer } from '@toolrack/contract'
import type { JsonFault } from './json-fault.ts'
import { stringEnd } from './string-end.ts'

/** Nesting outside of schemas; a schema's own depth is judged, with its pointer, when it is admitted. */
export const JSON_DEPTH_MAX = 32

/** The keys below which a tool's schema lies, in every shape that a definition may be sent in. */
const SCHEMA_KEYS = new Set(['parameters', 'inputSchema', 'input_schema', 'parametersJsonSchema'])

type Frame = {
  /** The keys seen so far; undefined for an array. */
  readonly keys: Set<string> | undefined
  readonly inSchema: boolean
  /** The key or index of the member that is being read. */
  at: string | number
  expectsKey: boolean
}

/** Characters of a step: 3 ms where each of them is looked at. */
const STEP = 128 * 1024

/** Finds what JSON.parse hides, in text that it has accepted. One pass, no recursion: any depth is safe. */
export function scanJson(text: string, depthMax = JSON_DEPTH_MAX): JsonFault | undefined {
  const steps = scanJsonInSteps(text, depthMax)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** The same in steps: others may have a turn where it yields. */
export function* scanJsonInSteps(
  text: string,
  depthMax: number,
): Generator<undefined, JsonFault | undefined> {
  const frames: Frame[] = []
  const pointer = (): string => jsonPointer(frames.map((frame) => frame.at).slice(0, depthMax))

  let stepEnd = STEP
  for (let index = 0; index < text.length; index += 1) {
    if (index >= stepEnd) {
      yield
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
        if (key === '__proto__')
          return { pointer: pointer(), message: 'holds the key __proto__, which is never allowed' }
        if (frame.keys.has(key))
          return { pointer: pointer(), message: 'holds the same key twice; which of them counts is unclear' }
        frame.keys.add(key)
      }
      index = end
    } else if (char === ',' && frame) {
      if (frame.keys) frame.expectsKey = true
      else frame.at = Number(frame.at) + 1
    } else if (char === '{' || char === '[') {
      const inSchema = frame !== undefined && (frame.inSchema || SCHEMA_KEYS.has(String(frame.at)))
      frames.push({
        keys: char === '{' ? new Set() : undefined,
        inSchema,
        at: char === '{' ? '' : 0,
        expectsKey: char === '{',
      })
      if (!inSchema && frames.length > depthMax) {
        frames.pop()
        return { pointer: pointer(), message: `is nested deeper than ${depthMax} levels` }
      }
    } else if (char === '}' || char === ']') frames.pop()
    else if (char !== undefined && NUMBER_START.test(char)) {
      const end = numberEnd(text, index)
      if (!Number.isFinite(Number(text.slice(index, end))))
        return { pointer: pointer(), message: 'holds a number that is too large to be read' }
      index = end - 1
    }
  }
  return undefined
}

const NUMBER_START = /[-0-9]/
const NUMBER_PART = /[-+.0-9eE]/

function numberEnd(text: string, start: number): number {
  let end = start + 1
  while (NUMBER_PART.test(text[end] ?? '')) end += 1
  return end
}
