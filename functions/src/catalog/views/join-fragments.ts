import { ANSWER_BYTES_MAX, answerTooLarge, type Listed } from './select-entries.ts'
import { keptMemory } from './kept-bytes.ts'

/** The bytes before and after the fragments of a list. */
type Ends = readonly [open: Buffer, close: Buffer]

export const ARRAY: Ends = [Buffer.from('['), Buffer.from(']')]
const ITEMS: Ends = [Buffer.from('{"items":['), Buffer.from(']}')]

/** The bytes around the fragments, for a list with a single tool that has all declarations under `declarationsKey`. */
export function inOneTool(declarationsKey: string): Ends {
  return [Buffer.from(`[{${JSON.stringify(declarationsKey)}:[`), Buffer.from(']}]')]
}

const NOTHING = Buffer.alloc(0)
const COMMA = ','.charCodeAt(0)

/** The place of the text of a tool in the body of a list, in bytes. */
export type PlaceInBody = { readonly start: number; readonly end: number }

/** The body of a list, and the places of its first PLACES_MAX tools. */
export type JoinedList = { readonly body: Buffer; readonly places: readonly PlaceInBody[] }

/** The most places of one list. The statistics count the tokens of as many tools of a user. */
export const PLACES_MAX = 500

export function joinFragments(ends: Ends, listed: readonly Listed[]): JoinedList {
  return join(ends, listed, 0, () => NOTHING)
}

/**
 * Joins fragments to a list of items. An item is the listed tool with the additional key `workflowName`. This key and a brace
 * replace the closing brace of the fragment.
 */
export function joinItems(listed: readonly Listed[], workflowOf: (one: Listed) => string): JoinedList {
  const tails = new Map<string, Buffer>()
  function tailOf(one: Listed): Buffer {
    const workflowName = workflowOf(one)
    const tail = tails.get(workflowName) ?? Buffer.from(`,"workflowName":${JSON.stringify(workflowName)}}`)
    tails.set(workflowName, tail)
    return tail
  }
  return join(ITEMS, listed, 1, tailOf)
}

/**
 * Joins fragments. The last `cut` bytes of each fragment are replaced by the bytes that `tailOf` returns. The size of the body is
 * computed first, so that each fragment is copied only once.
 */
function join(
  [open, close]: Ends,
  listed: readonly Listed[],
  cut: number,
  tailOf: (one: Listed) => Buffer,
): JoinedList {
  let bytes = open.length + close.length + Math.max(0, listed.length - 1)
  for (const one of listed) bytes += one.fragment.length - cut + tailOf(one).length
  if (bytes > ANSWER_BYTES_MAX) throw answerTooLarge()
  const body = keptMemory(bytes)
  const places: PlaceInBody[] = []
  body.set(open)
  let at = open.length
  for (const [index, one] of listed.entries()) {
    if (index > 0) body[at++] = COMMA
    const start = at
    body.set(one.fragment, at)
    at += one.fragment.length - cut
    const tail = tailOf(one)
    body.set(tail, at)
    at += tail.length
    if (index < PLACES_MAX) places.push({ start, end: at })
  }
  body.set(close, at)
  return { body, places }
}
