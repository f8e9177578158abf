import type { JsonValue } from '../json.ts'

/** What a vendor gives a call to pair it with its answer; none of them is near that long. */
export function isCallId(id: JsonValue | undefined): id is string {
  return typeof id === 'string' && id !== '' && id.length <= 512
}
