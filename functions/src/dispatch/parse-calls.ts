import type { JsonValue, ReadCalls } from '@toolrack/contract'
import { readCalls, ToolrackError } from '@toolrack/contract'

/** The one place where a model's raw calls become calls. Throws what is wrong with them before any of them is run. */
export function parseCalls(body: JsonValue): ReadCalls {
  const read = readCalls(body)
  if ('fault' in read) throw new ToolrackError('BODY_INVALID', `The body ${read.fault}.`)
  return read
}
