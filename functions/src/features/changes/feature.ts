import type { Principal } from '../../access/principal.ts'
import type { Catalog } from '../../catalog/views/catalog.ts'
import type { DefinitionStore } from '../../catalog/definitions/definition-store.ts'
import type { Signal } from '../../signal.ts'
import type { RuleBook } from '../rules/rule-book.ts'
import { ChangeFeeds, type Bounds } from './change-feeds.ts'
import { changesRoute } from './changes-route.ts'
import { PastViews, type Filtered } from './past-views.ts'

type Needs = {
  readonly catalog: Catalog
  readonly store: DefinitionStore
  readonly ruleBook: RuleBook
  readonly now: () => number
  /** How many change feeds may be open. */
  readonly feedBounds?: Bounds | undefined
  readonly signals: { readonly written: Signal }
}

/** Says what has changed in a list since an earlier revision. */
export const changes = {
  name: 'changes',
  create({ catalog, store, ruleBook, now, feedBounds, signals }: Needs) {
    const views = new PastViews<Principal & Filtered>({
      catalog,
      store,
      rulesFor: (caller, session) => ruleBook.forList(caller, session),
    })
    const feeds = new ChangeFeeds<Principal & Filtered>({ views, now, bounds: feedBounds })
    signals.written.listen(() => feeds.wake())
    return { changes: { feeds, views } }
  },
  routes: (parts: Parameters<typeof changesRoute>[0]) => [changesRoute(parts)],
  close({ changes: { feeds } }: { readonly changes: { readonly feeds: { close(): void } } }): void {
    feeds.close()
  },
}
