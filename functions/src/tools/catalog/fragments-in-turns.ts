import type { DialectRules } from '@toolrack/contract'
import { LongWork } from '../../loop-turn.ts'
import type { CatalogEntry } from './catalog-entry.ts'
import type { DialectFragment, DialectFragments } from './dialect-fragments.ts'

/** Thrown to stop the work, so that other requests get a turn. It never leaves `FragmentsInTurns`. */
const TURN = new Error('others have a turn')

/** Makes the fragments of one list in several steps. In one step, the fragments of a large layer took 900 ms. */
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

  /** Calls `make`, which calls `of`. Repeats this until all fragments that `make` needs exist. */
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
