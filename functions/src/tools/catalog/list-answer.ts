import { isToolName, LAYERS, type DialectRules } from '@toolrack/contract'
import type { CatalogEntry } from './catalog-entry.ts'
import type { CatalogView } from './catalog-view.ts'
import type { DialectFragments } from './dialect-fragments.ts'
import { aliasFault } from './explain-dialects.ts'
import { ARRAY, inOneTool, joinFragments, joinItems } from './join-fragments.ts'
import { writeCursor, type ListQuery } from './list-query.ts'
import { selectEntries, type Listed, type Selected } from './select-entries.ts'

/** A list that is ready to be sent. The texts are values of headers. If a text is undefined, its header is not sent. */
export type ListAnswer = {
  readonly body: Buffer
  /** The number of definitions in each layer before merge and filter, for example `user=3,global=41,file=14`. */
  readonly layers: string
  readonly unknown: string | undefined
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
export function listAnswer(view: CatalogView, query: ListQuery, workflows: ItemWorkflows): ListAnswer {
  return answer(view, query, workflows, (entry) => entry)
}

/** Makes the list for a vendor's `tools` field. Tools that the vendor would refuse are left out and named. */
export function dialectAnswer(
  view: CatalogView,
  query: ListQuery,
  dialect: DialectRules,
  workflows: ItemWorkflows,
  fragments: Pick<DialectFragments, 'of'>,
): ListAnswer {
  function shape(entry: CatalogEntry): Listed | undefined {
    const fragment = fragments.of(entry, dialect)
    if (!fragment || aliasFault(view, entry.name, dialect)) return undefined
    return { fragment, workflowName: entry.workflowName, callable: entry.callable }
  }

  return answer(view, query, workflows, shape, dialect.declarationsKey)
}

function answer(
  view: CatalogView,
  query: ListQuery,
  workflows: ItemWorkflows,
  shape: (entry: CatalogEntry) => Listed | undefined,
  declarationsKey?: string,
): ListAnswer {
  const selected = selectEntries(view, query, isOmittedFrom(query, workflows), shape)
  return joinedAnswer(view, query, workflows, selected, declarationsKey)
}

/** The list of these tools. */
export function joinedAnswer(
  view: CatalogView,
  query: ListQuery,
  workflows: ItemWorkflows,
  { listed, quarantined, omitted, unknown, last, hasMore }: Selected,
  declarationsKey?: string,
): ListAnswer {
  // Gemini refuses a tool without declarations, so an empty list stays an empty array.
  const ends = declarationsKey !== undefined && listed.length > 0 ? inOneTool(declarationsKey) : ARRAY
  return {
    body:
      query.envelope === 'items'
        ? joinItems(listed, (one) => workflowOf(one, workflows))
        : joinFragments(ends, listed),
    layers: layersText(view),
    unknown: namesText(unknown),
    quarantined: namesText(quarantined),
    omitted: namesText(omitted),
    nextCursor: hasMore && last ? writeCursor(last) : undefined,
  }
}

/** Says which tools are left out of a list of items. */
export function isOmittedFrom({ envelope }: ListQuery, { invokeWorkflow }: ItemWorkflows) {
  return ({ callable }: CatalogEntry): boolean =>
    envelope === 'items' && invokeWorkflow === undefined && callable === 'service'
}

/** The workflow that an item names. */
export function workflowOf(
  { callable, workflowName }: Pick<Listed, 'callable' | 'workflowName'>,
  { defaultWorkflow, invokeWorkflow }: ItemWorkflows,
): string {
  const own = workflowName ?? defaultWorkflow
  return callable === 'service' ? (invokeWorkflow ?? own) : own
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
function namesText(names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined
  const shown = names.filter(isToolName).slice(0, NAMES_IN_HEADER)
  const more = names.length - shown.length
  return [...shown, ...(more > 0 ? [`+${more}`] : [])].join(',')
}
