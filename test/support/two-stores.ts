import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { openGovernance } from '../../functions/src/stores/sqlite/open-governance.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** Two stores over the same data, as two instances have them. */
export type TwoStores<Store> = {
  readonly stores: readonly [Store, Store]
  readonly dispose: () => Promise<void>
}

/** Two stores over one new file of SQLite. */
export function twoSqliteStores<Store>(make: (database: DatabaseSync) => Store): Promise<TwoStores<Store>> {
  const folder = temporaryFolder()
  const path = join(folder.path, 'governance.sqlite')
  const databases = [openGovernance(path), openGovernance(path)] as const
  return Promise.resolve({
    stores: [make(databases[0]), make(databases[1])],
    dispose() {
      for (const database of databases) database.close()
      folder[Symbol.dispose]()
      return Promise.resolve()
    },
  })
}
