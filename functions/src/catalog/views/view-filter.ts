import type { ListFilter } from './catalog-view.ts'
import type { CallingSession } from './session-selection.ts'

/**
 * Filters the view of one list, besides the grant and the rules for everybody. The filter contains the selection of a session and
 * the scopes. `session` selects the rules of a session.
 */
export type ViewFilter = {
  readonly filter: ListFilter
  readonly session?: CallingSession | undefined
  /** An estimate of the memory that the filter holds. */
  readonly bytes: number
}
