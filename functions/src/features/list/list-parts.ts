import type { ToolSearch } from '../../catalog/search/tool-search.ts'
import type { Catalog } from '../../catalog/views/catalog.ts'
import type { ItemWorkflows } from '../../catalog/views/list-answer.ts'
import type { Envelope, ItemNames } from '../../catalog/views/list-query.ts'
import type { UsageRank } from '../../catalog/views/usage-rank.ts'
import type { ListedCatalog } from '../../catalog/views/listed-catalog.ts'
import type { CircuitStates } from '../circuits/circuits.ts'
import type { ViewFilter } from '../../catalog/views/view-filter.ts'
import type { SentTools } from '../statistics/list-tokens.ts'
import type { ListFilterParts } from './list-filter.ts'

/** The parts that make a list. */
export type ListParts = ItemWorkflows &
  ListFilterParts & {
    readonly catalog: Catalog
    /** The catalog without the tools that rules hide. */
    readonly listed: ListedCatalog
    readonly search: ToolSearch
    readonly circuits: CircuitStates
    readonly usageRanks: { readonly of: (uid: string) => UsageRank | Promise<UsageRank> }
    /** Counts a list that is sent. `isSame`: the user has the list already. It must not wait for anything, and must not throw. */
    readonly countList?: ((uid: string, list: SentTools, isSame: boolean) => void) | undefined
    /** Remembers the filter of a list, so that a change feed can continue from that list. */
    readonly changes: {
      readonly views: {
        readonly know: (uid: string, revision: string, listFilter: () => ViewFilter) => void
      }
    }
    /** The envelope of a list if its query does not name one. */
    readonly envelope: Envelope
    /** The kind of names that the items of a list have if the query does not name one. The default is the canonical names. */
    readonly itemNames?: ItemNames | undefined
  }
