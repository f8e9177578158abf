import type { JsonValue } from '@toolrack/contract'
import { isJsonObject } from '@toolrack/contract'

/** A tool of a definitions file: its category is the file's family where it names none. */
export function withFamily(tool: JsonValue, family: string): JsonValue {
  return isJsonObject(tool) ? { ...tool, category: tool['category'] ?? family } : tool
}
