import type { DialectRules } from '@toolrack/contract'
import { LongWork } from '../../loop-turn.ts'
import type { CatalogEntry } from './catalog-entry.ts'
import type { DialectFragment, DialectFragments } from './dialect-fragments.ts'

/** Says that others are to have a turn before more is made. Nobody but `FragmentsInTurns` sees it. */
const TURN = new Error('others have a turn')

/** The fragments of one list, which are made in steps: a large layer in a dialect was measured at 900 ms at once. */
export class FragmentsInTurns {
  readonly #fragments: Pick<DialectFragments, 'of'>
  readonly #made = new Map<CatalogEntry, DialectFragment>()
  readonly #work = new LongWork()

  constructor(fragments: Pick<DialectFragments, 'of'>) {
    this.#fragments = fragments
  }

  of(entry: CatalogEntry, dialect: DialectRules): DialectFragment {
    const known = this.#made.get(entry)
    if (known) return known
    if (this.#work.isLong) throw TURN
    const made = this.#fragments.of(entry, dialect)
    this.#made.set(entry, made)
    return made
  }

  /** Calls `make`, which asks `of`, until all that it asks for is made. Each time it begins anew, and finds what is made. */
  async whole<Value>(make: () => Value): Promise<Value> {
    for (; ; await this.#work.giveTurn()) {
      try {
        return make()
      } catch (error) {
        if (error !== TURN) throw error
      }
    }
  }
}
