import type { Obstacle } from '@toolrack/contract'
import { aliasOf } from '@toolrack/contract'
import type { CatalogEntry } from './catalog-entry.ts'
import type { CatalogView } from './catalog-view.ts'

/**
 * What keeps a tool from being listed by its alias: that a call by it would be one of another tool, which has it as its
 * name, or has the same alias and comes first. That one is listed, whether it was asked for or not.
 */
export function aliasObstacle(view: CatalogView, { name }: CatalogEntry): Obstacle | undefined {
  const called = view.resolve(aliasOf(name))
  if (!called || called.name === name) return undefined
  const what = called.name === aliasOf(name) ? 'is the name' : 'is also the alias'
  return { pointer: '/function/name', reason: `its alias ${what} of ${called.name}, which a call by it runs` }
}
