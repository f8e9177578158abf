import type { CatalogEntry } from '../../tools/catalog/catalog-entry.ts'
import { JsonText } from '../../tools/json/json-text.ts'

/** A stored definition as the routes show it. Its text is sent as it is: to parse and write those of a large layer took 300 ms. */
export function shownDefinition(entry: CatalogEntry) {
  const { revision, updatedAt, updatedBy, source } = entry.stored
  return {
    name: entry.name,
    layer: entry.layer,
    digest: entry.digest,
    revision,
    ...(updatedAt !== undefined && { updatedAt }),
    ...(updatedBy !== undefined && { updatedBy }),
    ...(source !== undefined && { source }),
    definition: new JsonText(entry.stored.text),
  }
}
