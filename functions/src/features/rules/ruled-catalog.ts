import type { Principal } from '../../access/principal.ts'
import type { Catalog } from '../../catalog/views/catalog.ts'
import type { CatalogView } from '../../catalog/views/catalog-view.ts'
import type { CallingSession } from '../../catalog/views/session-selection.ts'
import type { RuleBook } from './rule-book.ts'

/** The catalog without the tools that the rules deny whatever their arguments are. Lists and calls use it. */
export class RuledCatalog {
  readonly #catalog: Pick<Catalog, 'view'>
  readonly #rules: Pick<RuleBook, 'forList'>

  constructor(catalog: Pick<Catalog, 'view'>, rules: Pick<RuleBook, 'forList'>) {
    this.#catalog = catalog
    this.#rules = rules
  }

  /**
   * The tools that the principal may list, through a session or without one. Not a promise if nothing has to be read. If some
   * rules could never be read, the view is not whole: it may have tools that these rules would hide. But no call of them can run,
   * because the step that authorizes refuses every call.
   */
  view(principal: Principal, session?: CallingSession): CatalogView | Promise<CatalogView> {
    const view = this.#catalog.view(principal)
    const rules = this.#rules.forList(principal, session)
    if (view instanceof Promise || rules instanceof Promise)
      return Promise.all([view, rules]).then(([read, inForce]) => read.ruledBy(inForce))
    return view.ruledBy(rules)
  }
}
