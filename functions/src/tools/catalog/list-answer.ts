import { isToolName, LAYERS } from '@toolrack/contract'
import type { CatalogView } from './catalog-view.ts'
import { ARRAY, joinFragments, joinItems } from './join-fragments.ts'
import { writeCursor, type ListQuery } from './list-query.ts'
import { selectEntries, type Selection } from './select-entries.ts'

/** A list that is ready to be sent. The texts are values of headers. An undefined text means that the header is not sent. */
export type ListAnswer = {
  readonly body: Buffer
  /** The number of definitions in each layer before merge and filter, for example `user=3,global=41,file=14`. */
  readonly layers: string
  readonly unknown: string | undefined
  /** Selected tools that are not in the list because the dialect does not admit them. */
  readonly quarantined: string | undefined
  readonly nextCursor: string | undefined
}

/** Builds a list from the fragments. They were serialised when the definitions were read. */
export function listAnswer(view: CatalogView, query: ListQuery, defaultWorkflow: string): ListAnswer {
  const selection = selectEntries(view, query)
  const { listed } = selection
  const body = query.envelope === 'items' ? joinItems(listed, defaultWorkflow) : joinFragments(ARRAY, listed)
  return { body, quarantined: undefined, ...about(view, selection) }
}

export function about(
  view: CatalogView,
  { unknown, last, hasMore }: Selection,
): Pick<ListAnswer, 'layers' | 'unknown' | 'nextCursor'> {
  return {
    layers: layersText(view),
    unknown: unknown.length > 0 ? namesText(unknown) : undefined,
    nextCursor: hasMore && last ? writeCursor(last) : undefined,
  }
}

/** The text of `X-Tools-Layers`: for each layer its number of definitions, or its status if it is not fresh. */
export function layersText(view: CatalogView): string {
  return LAYERS.map((layer) => {
    const { status, snapshot } = view.layers[layer]
    return `${layer}=${status === 'fresh' ? snapshot.byName.size : status}`
  }).join(',')
}

const NAMES_IN_HEADER = 20

/**
 * At most 20 names, then the number of the others, for example `+3`. Omits invalid names, because a caller may have
 * sent them.
 */
export function namesText(names: readonly string[]): string {
  const shown = names.filter(isToolName).slice(0, NAMES_IN_HEADER)
  const more = names.length - shown.length
  return [...shown, ...(more > 0 ? [`+${more}`] : [])].join(',')
}
