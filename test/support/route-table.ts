import { addressesOf } from '../../functions/src/http/route.ts'
import { FEATURES } from '../../functions/src/features/index.ts'

/** Enough parts to make the table, but not to answer a request. */
export const NO_PARTS = { modules: {} } as Parameters<typeof FEATURES.table>[0]

/** Every route of the service. */
export const ROWS = FEATURES.table(NO_PARTS)

/** Every route of the service with all of its addresses, without its handler. */
export const TABLE = ROWS.map((row) => ({
  method: row.method,
  path: row.path,
  isRoot: row.isRoot === true,
  isOriginal: row.isOriginal === true,
  isPublic: row.action === 'anybody',
  addresses: addressesOf(row),
}))

/** The routes that exist below both families. */
export const FAMILY_ROUTES = TABLE.filter(({ isRoot }) => !isRoot)
