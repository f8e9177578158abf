import type { Principal } from '../../access/principal.ts'
import type { Catalog } from '../../tools/catalog/catalog.ts'
import type { CatalogView } from '../../tools/catalog/catalog-view.ts'
import type { CallingSession, RuleBook } from './rule-book.ts'

/** The catalog without the tools that the rules deny whatever their arguments are. Lists and calls use it. */
export class RuledCatalog {
  readonly #catalog: Pick<Catalog, 'view'>
  readonly #rules: Pick<RuleBook, 'of'>

  constructor(catalog: Pick<Catalog, 'view'>, rules: Pick<RuleBook, 'of'>) {
    this.#catalog = catalog
    this.#rules = rules
  }

  /** What the principal may list, through a session or without one. Not a promise if nothing has to be read. Throws STORE_FAILED if the rules could never be read. */
  view(principal: Principal, session?: CallingSession): CatalogView | Promise<CatalogView> {
    const view = this.#catalog.view(principal)
    const rules = this.#rules.of(principal, session)
    if (view instanceof Promise || rules instanceof Promise)
      return Promise.all([view, rules]).then(([read, inForce]) => read.ruledBy(inForce))
    return view.ruledBy(rules)
  }
}
