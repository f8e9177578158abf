import type { JsonObject, JsonValue } from '@toolrack/contract'
import { isJsonObject, ToolrackError } from '@toolrack/contract'

export function objectBody(body: JsonValue): JsonObject {
  if (!isJsonObject(body)) throw new ToolrackError('BODY_INVALID', 'The body must be a JSON object.')
  return body
}
