import type { Signal } from '../../signal.ts'
import type { ScopeStore } from './scope-store.ts'
import { scopeRoutes } from './scope-routes.ts'
import { StoredScopes } from './stored-scopes.ts'

type Needs = {
  readonly governance: { readonly scopes: ScopeStore }
  readonly now: () => number
  readonly signals: { readonly written: Signal }
}

/** The stored scopes of users. */
export const scopes = {
  name: 'scopes',
  create({ governance, now, signals }: Needs) {
    return {
      scopes: new StoredScopes({ store: governance.scopes, now, written: signals.written.tell }),
    }
  },
  routes: scopeRoutes,
}
