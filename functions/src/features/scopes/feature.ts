import type { Documents } from '../../documents/documents.ts'
import type { Signal } from '../../signal.ts'
import { scopeRoutes } from './scope-routes.ts'
import { StoredScopes } from './stored-scopes.ts'

type Needs = {
  readonly documents: Documents
  readonly now: () => number
  readonly signals: { readonly written: Signal }
}

/** The stored scopes of users. */
export const scopes = {
  name: 'scopes',
  create({ documents, now, signals }: Needs) {
    return {
      scopes: new StoredScopes({ documents, now, written: signals.written.tell }),
    }
  },
  routes: scopeRoutes,
}
