import type { JsonObject, JsonValue } from '@toolrack/contract'

/** Levels of arrays and objects, the arguments themselves counted as the first. */
export const ARGUMENTS_DEPTH_MAX = 32

/** Keys that change what an object is, in programs that copy them. */
const REFUSED = new Set(['__proto__', 'constructor', 'prototype'])

/** JSON can write it, and UTF-8 cannot: no process could be handed it. */
const LONE_SURROGATE = 'a lone surrogate, which is no text; send the whole character'

type Visit = { readonly value: JsonValue; readonly argument: string; readonly depth: number }

/** What no tool is handed, whatever its schema says: the argument that holds it, and what is wrong. Walks without recursion. */
export function unsafeArgument(args: JsonObject): string | undefined {
  const refused = Object.keys(args).find((key) => REFUSED.has(key))
  if (refused !== undefined) return `'${refused}' has a name that is never allowed`
  if (!Object.keys(args).every(isText)) return `(its name is not repeated) has a name with ${LONE_SURROGATE}`
  const visits: Visit[] = Object.entries(args).map(([argument, value]) => ({ value, argument, depth: 1 }))
  for (let visit = visits.pop(); visit; visit = visits.pop()) {
    const { value, argument, depth } = visit
    if (typeof value === 'string' && !isText(value)) return `${quoted(argument)} holds ${LONE_SURROGATE}`
    if (typeof value !== 'object' || value === null) continue
    if (depth === ARGUMENTS_DEPTH_MAX)
      return `${quoted(argument)} is nested deeper than ${ARGUMENTS_DEPTH_MAX} levels`
    // The keys of an array are its own, and naming each would cost most of the walk.
    if (Array.isArray(value)) {
      for (const child of value as readonly JsonValue[])
        if (isToBeSeen(child)) visits.push({ value: child, argument, depth: depth + 1 })
      continue
    }
    for (const [key, child] of Object.entries(value)) {
      if (REFUSED.has(key)) return `${quoted(argument)} holds the key ${key}, which is never allowed`
      if (!isText(key)) return `${quoted(argument)} holds a key with ${LONE_SURROGATE}`
      if (isToBeSeen(child)) visits.push({ value: child, argument, depth: depth + 1 })
    }
  }
  return undefined
}

/** Numbers, booleans and null are safe. */
function isToBeSeen(value: JsonValue): boolean {
  return typeof value === 'string' || (typeof value === 'object' && value !== null)
}

function isText(text: string): boolean {
  return text.isWellFormed()
}

/** A name that was sent, where it looks like one; a model that gets it back finds what to mend. */
function quoted(argument: string): string {
  return /^[\w .:-]{1,64}$/.test(argument) ? `'${argument}'` : '(its name is not repeated)'
}
