import type { ListFilter } from './catalog-view.ts'
import type { CallingSession } from './session-selection.ts'

/** What narrows a view beside the grant and the rules for everybody: the selection of a session, with its rules, and scopes. */
export type ViewFilter = {
  readonly filter: ListFilter
  readonly session?: CallingSession | undefined
  /** An estimate of the memory that the filter holds. */
  readonly bytes: number
}
