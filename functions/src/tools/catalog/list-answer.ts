import { isToolName, LAYERS } from '@toolrack/contract'
import type { CatalogView } from './catalog-view.ts'
import { writeCursor } from './cursor.ts'
import { ARRAY, joinFragments, joinItems } from './join-fragments.ts'
import type { ListQuery } from './list-query.ts'
import { selectEntries } from './select-entries.ts'
import type { Selection } from './select-entries.ts'

/** A list, ready to be sent, and what is to be said about it. */
export type ListAnswer = {
  readonly body: Buffer
  /** `user=3,global=41,file=14`, before merge and filter. */
  readonly layers: string
  /** Requested names that do not exist, for a header; undefined when there are none. */
  readonly unknown: string | undefined
  /** Selected tools that the dialect leaves out, for a header; undefined when there are none. */
  readonly quarantined: string | undefined
  /** Where the next page starts; undefined on the last one. */
  readonly nextCursor: string | undefined
}

/** Builds a list by joining what was serialised when the definitions were read. */
export function listAnswer(view: CatalogView, query: ListQuery, defaultWorkflow: string): ListAnswer {
  const selection = selectEntries(view, query)
  const { listed } = selection
  const body = query.envelope === 'items' ? joinItems(listed, defaultWorkflow) : joinFragments(ARRAY, listed)
  return { body, quarantined: undefined, ...about(view, selection) }
}

/** What is said of a list beside its body. */
export function about(view: CatalogView, { unknown, last, hasMore }: Selection) {
  return {
    layers: layersText(view),
    unknown: unknown.length > 0 ? namesText(unknown) : undefined,
    nextCursor: hasMore && last ? writeCursor(last) : undefined,
  }
}

/** How a layer stands in `X-Tools-Layers`: its number of definitions, or what became of it. */
export function layersText(view: CatalogView): string {
  return LAYERS.map((layer) => {
    const state = view.layers[layer]
    return `${layer}=${state.status === 'fresh' ? state.snapshot.byName.size : state.status}`
  }).join(',')
}

const NAMES_IN_HEADER = 20

/** At most 20 valid names, then how many more: nothing that a caller made up ever reaches a header. */
export function namesText(names: readonly string[]): string {
  const shown = names.filter(isToolName).slice(0, NAMES_IN_HEADER)
  const more = names.length - shown.length
  return [...shown, ...(more > 0 ? [`+${more}`] : [])].join(',')
}
