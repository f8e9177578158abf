import type { JsonValue } from '@toolrack/contract'

/** What a vendor gives a call to pair it with its answer; none of them is near that long. */
export function callId(id: JsonValue | undefined): id is string {
  return typeof id === 'string' && id !== '' && id.length <= 512
}
