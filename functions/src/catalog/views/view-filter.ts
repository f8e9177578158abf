import type { ListFilter } from './catalog-view.ts'
import type { CallingSession } from './session-selection.ts'

/**
 * What limits one list besides the grant and the rules for everybody. `filter` contains the scopes and the selection of a
 * session. `session` is the session whose rules apply.
 */
export type ViewFilter = {
  readonly filter: ListFilter
  readonly session?: CallingSession | undefined
  /** An estimate of the bytes of memory that the filter takes. */
  readonly bytes: number
}
