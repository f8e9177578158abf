import type { GrantPolicy } from '../../catalog/definitions/decide-consent.ts'
import type { DefinitionStore } from '../../catalog/definitions/definition-store.ts'
import type { Catalog } from '../../catalog/views/catalog.ts'
import type { Documents } from '../../documents/documents.ts'
import type { Log } from '../../log.ts'
import type { Signal } from '../../signal.ts'
import type { FolderLayers } from '../folder/folder-layers.ts'
import { FileConsents } from './file-consents.ts'
import { GRANT_SETTINGS } from './grant-settings.ts'
import { grantRoutes } from './grant-routes.ts'
import { ModuleConsents } from './module-consents.ts'

type ConsentNeeds = {
  readonly documents: Documents
  readonly governance: { readonly process?: string | undefined }
  readonly folderGrants?: { readonly isUpgrade: boolean } | undefined
  readonly toolsFolders?: readonly string[] | undefined
  readonly log: Log
  readonly now: () => number
  readonly signals: { readonly filesChanged: Signal }
  readonly settings: { readonly TOOLRACK_GRANTS: GrantPolicy }
}

/** What uploads and watched folders need to know of consents. The routes are in `grants`, because they need both. */
export const consents = {
  name: 'grants',
  settings: GRANT_SETTINGS,
  create(parts: ConsentNeeds) {
    const { documents, governance, folderGrants, toolsFolders = [], log, now, signals } = parts
    const grantPolicy = parts.settings.TOOLRACK_GRANTS
    if (!folderGrants && toolsFolders.length === 0) return { grantPolicy, fileConsents: undefined }
    const fileConsents = new FileConsents({
      documents,
      now,
      policy: grantPolicy,
      isShared: governance.process === undefined,
      isUpgrade: folderGrants?.isUpgrade ?? false,
      changed: signals.filesChanged.tell,
    })
    // Without a folder, the start of the records is noted now. A folder that is added later is then no older than them.
    if (toolsFolders.length === 0) void begin(fileConsents, log)
    return { grantPolicy, fileConsents }
  },
}

type Needs = {
  readonly store: DefinitionStore
  readonly catalog: Catalog
  readonly folder: FolderLayers | undefined
  readonly fileConsents: FileConsents | undefined
}

/** The grants of modules: what they ask for, and the consent to it. */
export const grants = {
  name: 'grants',
  create: (parts: Needs) => ({ consents: new ModuleConsents(parts) }),
  routes: grantRoutes,
}

async function begin(consents: FileConsents, log: Log): Promise<void> {
  try {
    await consents.read()
    await consents.settle(true)
  } catch (error) {
    const { message: reason } = error as Error
    log.warn('the start of the records of grants could not be noted', { reason })
  }
}
