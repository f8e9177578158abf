import type { CatalogView } from './catalog-view.ts'

/**
 * A text that stands for the definitions of a name in the layers that the service writes. After a newer definition or a deletion of
 * the name, the same text never comes back. Undefined if such a layer could not be read.
 */
export function storedMark(view: CatalogView, name: string): string | undefined {
  const { user, global } = view.withoutGrant.layers
  if (!user.snapshot || !global.snapshot) return undefined
  return [user.snapshot, global.snapshot].map((layer) => layer.writtenAt(name) ?? '-').join(' ')
}
