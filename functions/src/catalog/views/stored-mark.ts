import type { CatalogView } from './catalog-view.ts'

/**
 * A text for what the layers that the service writes say of a name. It never comes back after one of them has a newer definition of
 * the name, or has deleted one. Undefined if such a layer could not be read.
 */
export function storedMark(view: CatalogView, name: string): string | undefined {
  const { user, global } = view.unnarrowed.layers
  if (!user.snapshot || !global.snapshot) return undefined
  return [user.snapshot, global.snapshot].map((layer) => layer.writtenAt(name) ?? '-').join(' ')
}
