import { isToolName, LAYERS, type DialectRules } from '@toolrack/contract'
import type { CatalogEntry } from './catalog-entry.ts'
import type { CatalogView } from './catalog-view.ts'
import type { DialectFragments } from './dialect-fragments.ts'
import { aliasFault } from './explain-dialects.ts'
import { ARRAY, inOneTool, joinFragments, joinItems } from './join-fragments.ts'
import { writeCursor, type ListQuery } from './list-query.ts'
import { selectEntries, type Listed } from './select-entries.ts'

/** A list that is ready to be sent. The texts are values of headers. If a text is undefined, its header is not sent. */
export type ListAnswer = {
  readonly body: Buffer
  /** The number of definitions in each layer before merge and filter, for example `user=3,global=41,file=14`. */
  readonly layers: string
  readonly unknown: string | undefined
  /** Names that were asked for, and whose tools the scopes or the session leave out. */
  readonly leftOut: string | undefined
  /** Selected tools that are not in the list because the dialect does not admit them. */
  readonly quarantined: string | undefined
  /** Selected tools that are not in a list of items because the service runs them and no workflow calls it. */
  readonly omitted: string | undefined
  readonly nextCursor: string | undefined
}

/** The workflows that a list of items names. */
export type ItemWorkflows = {
  /** The `workflowName` of items whose runner names none. */
  readonly defaultWorkflow: string
  /** The `workflowName` of the tools that the service runs. If it is undefined, these tools are not in lists of items. */
  readonly invokeWorkflow?: string | undefined
}

/** Makes a list from the fragments of definitions, which were serialised when the definitions were read. */
export function listAnswer(
  view: CatalogView,
  query: ListQuery,
  workflows: ItemWorkflows,
  found?: readonly CatalogEntry[],
): ListAnswer {
  return answer(view, query, workflows, found, (entry) => entry)
}

/** Makes the list for a vendor's `tools` field. Tools that the vendor would refuse are left out and named. */
export function dialectAnswer(
  view: CatalogView,
  query: ListQuery,
  dialect: DialectRules,
  workflows: ItemWorkflows,
  fragments: Pick<DialectFragments, 'of'>,
  found?: readonly CatalogEntry[],
): ListAnswer {
  function shape(entry: CatalogEntry): Listed | undefined {
    const fragment = fragments.of(entry, dialect)
    if (!fragment || aliasFault(view, entry.name, dialect)) return undefined
    return { fragment, workflowName: entry.workflowName, callable: entry.callable }
  }

  return answer(view, query, workflows, found, shape, dialect)
}

function answer(
  view: CatalogView,
  query: ListQuery,
  { defaultWorkflow, invokeWorkflow }: ItemWorkflows,
  found: readonly CatalogEntry[] | undefined,
  shape: (entry: CatalogEntry) => Listed | undefined,
  dialect?: DialectRules,
): ListAnswer {
  const isItems = query.envelope === 'items'
  const isOmitted = (entry: CatalogEntry): boolean =>
    isItems && invokeWorkflow === undefined && entry.callable === 'service'
  const workflowOf = ({ callable, workflowName = defaultWorkflow }: Listed): string =>
    callable === 'service' ? (invokeWorkflow ?? workflowName) : workflowName
  const selected = selectEntries(view, query, isOmitted, shape, found)
  const { quarantined, omitted, unknown, leftOut, last, hasMore } = selected
  const listed = withSearch(selected, query, dialect)
  const declarationsKey = dialect?.declarationsKey
  // Gemini refuses a tool without declarations, so an empty list stays an empty array.
  const ends = declarationsKey !== undefined && listed.length > 0 ? inOneTool(declarationsKey) : ARRAY
  return {
    body: isItems ? joinItems(listed, workflowOf) : joinFragments(ends, listed),
    layers: layersText(view),
    unknown: namesText(unknown),
    leftOut: namesText(leftOut),
    quarantined: namesText(quarantined),
    omitted: namesText(omitted),
    nextCursor: hasMore && last && !found ? writeCursor(last) : undefined,
  }
}

/**
 * The whole list. If a model is to find more tools and the vendor has a search of its own, this search stands first and the listed
 * tools are deferred. Otherwise, and if there is nothing to defer, the service's own search tools stand first.
 */
function withSearch(
  { finders, listed, loaded }: ReturnType<typeof selectEntries>,
  query: ListQuery,
  dialect: DialectRules | undefined,
): readonly Listed[] {
  const deferral = query.withSearch && listed.length > 0 ? dialect?.deferral : undefined
  if (!deferral) return [...finders, ...listed, ...loaded]
  const mark = Buffer.from(`,${JSON.stringify(deferral.mark).slice(1)}`)
  const deferred = listed.map((one) => ({
    ...one,
    fragment: Buffer.concat([one.fragment.subarray(0, -1), mark]),
  }))
  const searchTool = Buffer.from(JSON.stringify(deferral.searchTool))
  return [{ fragment: searchTool, workflowName: undefined, callable: 'client' }, ...deferred, ...loaded]
}

/** The text of `X-Tools-Layers`: for each layer its number of definitions, or its status if it is not fresh. */
export function layersText(view: CatalogView): string {
  return LAYERS.map((layer) => {
    const { status, snapshot } = view.layers[layer]
    return `${layer}=${status === 'fresh' ? snapshot.byName.size : status}`
  }).join(',')
}

const NAMES_IN_HEADER = 20

/** At most 20 names, then the number of names that are not shown, for example `+3`. Names that are not valid are never shown. */
export function namesText(names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined
  const shown = names.filter(isToolName).slice(0, NAMES_IN_HEADER)
  const more = names.length - shown.length
  return [...shown, ...(more > 0 ? [`+${more}`] : [])].join(',')
}
