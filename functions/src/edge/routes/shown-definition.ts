import type { JsonObject, JsonValue } from '@toolrack/contract'
import type { CatalogEntry } from '../../tools/catalog/catalog-entry.ts'

/** A stored definition as the routes show it. */
export function shownDefinition(entry: CatalogEntry): JsonObject {
  return { ...shownMeta(entry), definition: JSON.parse(entry.stored.text) as JsonValue }
}

/** What is shown beside the definition itself. */
export function shownMeta(entry: CatalogEntry): JsonObject {
  const { revision, updatedAt, updatedBy, source } = entry.stored
  return {
    name: entry.name,
    layer: entry.layer,
    digest: entry.digest,
    revision,
    ...(updatedAt !== undefined && { updatedAt }),
    ...(updatedBy !== undefined && { updatedBy }),
    ...(source !== undefined && { source }),
  }
}
