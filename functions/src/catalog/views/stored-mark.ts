import type { CatalogView } from './catalog-view.ts'

/**
 * A text that identifies the present definitions of a name in the user layer and the global layer. After a newer definition or a
 * deletion of the name, the text is different forever. Undefined if one of these layers could not be read.
 */
export function storedMark(view: CatalogView, name: string): string | undefined {
  const { user, global } = view.withoutGrant.layers
  if (!user.snapshot || !global.snapshot) return undefined
  return [user.snapshot, global.snapshot].map((layer) => layer.writtenAt(name) ?? '-').join(' ')
}
