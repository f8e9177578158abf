import type { JsonObject } from '../json.ts'
import { isJsonObject } from '../json.ts'
import { mapSubschemas } from '../schema-keywords.ts'
import { typesOf } from './types-of.ts'

/**
 * The same schema with `items: {}` on each array that says nothing of its items: OpenAI and Gemini refuse one without.
 * The same object where none is.
 */
export function arraysWithItems(schema: JsonObject): JsonObject {
  const below = mapSubschemas(schema, (child) => (isJsonObject(child) ? arraysWithItems(child) : child))
  const isUntold = typesOf(below).includes('array') && below['items'] === undefined
  return isUntold ? { ...below, items: {} } : below
}
