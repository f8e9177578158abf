import { ANSWER_BYTES_MAX, answerTooLarge, type Listed } from './select-entries.ts'

/** The bytes before and after the fragments. */
export type Ends = { readonly open: Buffer; readonly close: Buffer }

export const ARRAY = ends('[', ']')
export const ITEMS = ends('{"items":[', ']}')

/** The ends of a list with a single tool that has all declarations under `declarationsKey`. */
export function inOneTool(declarationsKey: string): Ends {
  return ends(`[{${JSON.stringify(declarationsKey)}:[`, ']}]')
}

const NOTHING = Buffer.alloc(0)
const COMMA = ','.charCodeAt(0)

export function joinFragments(around: Ends, listed: readonly Listed[]): Buffer {
  return join(around, listed, { cut: 0, of: () => NOTHING })
}

/** An item is the listed tool with one more key. So the closing brace of its fragment is replaced by the key and a brace. */
export function joinItems(listed: readonly Listed[], defaultWorkflow: string): Buffer {
  const tails = new Map<string, Buffer>()
  function tailOf({ workflowName = defaultWorkflow }: Listed): Buffer {
    const known = tails.get(workflowName)
    if (known) return known
    const tail = Buffer.from(`,"workflowName":${JSON.stringify(workflowName)}}`)
    tails.set(workflowName, tail)
    return tail
  }
  return join(ITEMS, listed, { cut: 1, of: tailOf })
}

/** The bytes after each fragment, and how many bytes at the end of the fragment they replace. */
type Tails = { readonly cut: number; readonly of: (one: Listed) => Buffer }

/** Computes the size of the body first, so that each fragment is copied only once. */
function join(around: Ends, listed: readonly Listed[], tails: Tails): Buffer {
  let bytes = around.open.length + around.close.length + Math.max(0, listed.length - 1)
  for (const one of listed) bytes += one.fragment.length - tails.cut + tails.of(one).length
  if (bytes > ANSWER_BYTES_MAX) throw answerTooLarge()
  const body = Buffer.allocUnsafe(bytes)
  body.set(around.open)
  let at = around.open.length
  for (const [index, one] of listed.entries()) {
    if (index > 0) body[at++] = COMMA
    body.set(one.fragment, at)
    at += one.fragment.length - tails.cut
    const tail = tails.of(one)
    body.set(tail, at)
    at += tail.length
  }
  body.set(around.close, at)
  return body
}

function ends(open: string, close: string): Ends {
  return { open: Buffer.from(open), close: Buffer.from(close) }
}
