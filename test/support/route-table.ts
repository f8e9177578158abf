import { addressesOf } from '../../functions/src/http/route.ts'
import { routeTable } from '../../functions/src/hosts/route-table.ts'
import type { RouteParts } from '../../functions/src/hosts/route-parts.ts'

/** Enough parts to make the table, but not to answer a request. */
export const NO_PARTS = { modules: {} } as RouteParts

/** Every route of the service with all of its addresses, without its handler. */
export const TABLE = routeTable(NO_PARTS).map((row) => ({
  method: row.method,
  path: row.path,
  isRoot: row.isRoot === true,
  isOriginal: row.isOriginal === true,
  isPublic: row.action === 'anybody',
  addresses: addressesOf(row),
}))

/** The routes that exist below both families. */
export const FAMILY_ROUTES = TABLE.filter(({ isRoot }) => !isRoot)
