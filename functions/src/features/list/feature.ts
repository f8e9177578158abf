import { explainRoute, listRoutes } from './list-tools.ts'
import type { ListParts } from './list-parts.ts'

/** The lists of tools for models. */
export const list = {
  name: 'list',
  routes: (parts: ListParts) => [...listRoutes(parts), explainRoute(parts)],
}
