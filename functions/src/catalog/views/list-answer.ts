import { isToolName, LAYERS, type DialectRules, type JsonObject } from '@toolrack/contract'
import type { Pieces } from '../../loop-turn.ts'
import type { CatalogEntry } from './catalog-entry.ts'
import type { CatalogView } from './catalog-view.ts'
import type { DialectFragments } from './dialect-fragments.ts'
import { aliasFault } from './explain-dialects.ts'
import { aliasOfEntry } from './layer-snapshot.ts'
import { ARRAY, inOneTool, joinFragments, joinItems, type PlaceInBody } from './join-fragments.ts'
import { writeCursor, type ListQuery } from './list-query.ts'
import { selectEntries, type Listed, type Selected } from './select-entries.ts'

/** A list that is ready to be sent. All of its texts are values of headers. A header whose text is undefined is not sent. */
export type ListAnswer = {
  readonly body: Buffer
  /** The number of definitions in each layer before they are merged and filtered, for example `user=3,global=41,file=14`. */
  readonly layers: string
  readonly unknown: string | undefined
  /** The requested names of tools that a scope or the session leaves out, or that wait for consent. */
  readonly leftOut: string | undefined
  /** The selected tools that are not in the list because the dialect cannot express them. */
  readonly quarantined: string | undefined
  /** The selected tools that a list of items leaves out. The service runs these tools, and no workflow is set that calls them. */
  readonly omitted: string | undefined
  readonly nextCursor: string | undefined
  /** The first PLACES_MAX tools of the body, without tools that the vendor itself adds. */
  readonly tools: readonly ToolInAnswer[]
}

/** A tool in the body of a list, and the place of its JSON text. */
export type ToolInAnswer = PlaceInBody & {
  readonly name: string
  /** True for a tool of the user's own layer. */
  readonly isOwn: boolean
  /** The tokens of the text. Undefined if they were not counted for the list. */
  readonly tokens: number | undefined
}

/** The names of workflows in a list with the envelope `items`. */
export type ItemWorkflows = {
  /** The `workflowName` of an item whose runner names no workflow. */
  readonly defaultWorkflow: string
  /** The `workflowName` of an item whose tool the service runs. If it is undefined, lists of items leave out these tools. */
  readonly invokeWorkflow?: string | undefined
}

/**
 * Makes a list from the fragments of definitions. A fragment is the JSON text of a listed tool, which was made when the
 * definition was read. `notes` has additional facts about tools. They are put under a key that no definition has.
 */
export function* listAnswer(
  view: CatalogView,
  query: ListQuery,
  workflows: ItemWorkflows,
  found?: readonly CatalogEntry[],
  notes?: ReadonlyMap<CatalogEntry, JsonObject>,
): Pieces<ListAnswer> {
  function shape(entry: CatalogEntry): Listed {
    const note = notes?.get(entry)
    return note ? withEnding(entry, `,"x-toolrack":${JSON.stringify(note)}}`) : entry
  }

  return yield* answer(view, query, workflows, found, shape)
}

/** Makes the list for a vendor's `tools` field. Tools that the vendor would refuse are left out and named. */
export function* dialectAnswer(
  view: CatalogView,
  query: ListQuery,
  dialect: DialectRules,
  workflows: ItemWorkflows,
  fragments: Pick<DialectFragments, 'of'>,
  found?: readonly CatalogEntry[],
): Pieces<ListAnswer> {
  function shape(entry: CatalogEntry): Listed | undefined {
    const fragment = fragments.of(entry, dialect)
    if (!fragment || isAliasTaken(view, entry, dialect)) return undefined
    const { name, layer, workflowName, callable } = entry
    return { name, layer, fragment, workflowName, callable }
  }

  if (dialect.usesAliases) yield* view.readAliases()
  return yield* answer(view, query, workflows, found, shape, dialect)
}

/** True if the dialect leaves the tool out, because a call by its alias would run another tool. */
export function isAliasTaken(view: CatalogView, entry: CatalogEntry, dialect: DialectRules): boolean {
  return dialect.usesAliases && aliasFault(view, entry.name, aliasOfEntry(entry)) !== undefined
}

function* answer(
  view: CatalogView,
  query: ListQuery,
  workflows: ItemWorkflows,
  found: readonly CatalogEntry[] | undefined,
  shape: (entry: CatalogEntry) => Listed | undefined,
  dialect?: DialectRules,
): Pieces<ListAnswer> {
  const selected = yield* selectEntries(view, query, isOmittedFrom(query, workflows), shape, found)
  return joinedAnswer(view, query, workflows, selected, withSearch(selected, query, dialect), dialect, found)
}

/** Makes the answer with the tools in `listed`. `withSearch` has decided their order. */
export function joinedAnswer(
  view: CatalogView,
  query: ListQuery,
  workflows: ItemWorkflows,
  { quarantined, omitted, unknown, leftOut, last, hasMore }: Selected,
  listed: readonly Listed[],
  dialect: DialectRules | undefined,
  found: readonly CatalogEntry[] | undefined,
): ListAnswer {
  const declarationsKey = dialect?.declarationsKey
  // An empty list stays an empty array, because Gemini refuses a tool without declarations.
  const ends = declarationsKey !== undefined && listed.length > 0 ? inOneTool(declarationsKey) : ARRAY
  const { body, places } =
    query.envelope === 'items'
      ? joinItems(listed, (one) => workflowOf(one, workflows))
      : joinFragments(ends, listed)
  return {
    body,
    tools: toolsIn(listed, places),
    layers: layersText(view),
    unknown: namesText([...new Set(unknown)]),
    leftOut: namesText(leftOut),
    quarantined: namesText(quarantined),
    omitted: namesText(omitted),
    nextCursor: hasMore && last && !found ? writeCursor(last) : undefined,
  }
}

/** The tools of a list that have a place and a name. */
function toolsIn(listed: readonly Listed[], places: readonly PlaceInBody[]): readonly ToolInAnswer[] {
  return places.flatMap((place, at) => {
    const { name, layer, size } = listed[at] ?? {}
    return name === undefined ? [] : [{ name, isOwn: layer === 'user', ...place, tokens: size?.tokens }]
  })
}

/** Returns a function that tells which tools are left out of a list of items. */
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

/**
 * Puts the whole list in order. If the model may search for more tools and the vendor has its own search, this search comes
 * first, and the listed tools are deferred. Otherwise, or if no tool is listed, the service's own search tools come first.
 */
export function withSearch(
  { finders, listed, loaded }: Pick<Selected, 'finders' | 'listed' | 'loaded'>,
  query: ListQuery,
  dialect: DialectRules | undefined,
): readonly Listed[] {
  const deferral = query.withSearch && listed.length > 0 ? dialect?.deferral : undefined
  if (!deferral) return [...finders, ...listed, ...loaded]
  const ending = markOf(deferral)
  const deferred = listed.map((one) => withEnding(one, ending))
  const searchTool = Buffer.from(JSON.stringify(deferral.searchTool))
  return [{ fragment: searchTool, workflowName: undefined, callable: 'client' }, ...deferred, ...loaded]
}

/** The tool with one additional key. `ending` replaces the last brace of its fragment. */
function withEnding(one: Listed, ending: string): Listed {
  return { ...one, ending, fragment: Buffer.concat([one.fragment.subarray(0, -1), Buffer.from(ending)]) }
}

/** The text that replaces the last brace of a fragment if the tool is deferred to the vendor's own search. */
export function markOf({ mark }: NonNullable<DialectRules['deferral']>): string {
  return `,${JSON.stringify(mark).slice(1)}`
}

/**
 * The value of `X-Tools-Layers`: for each layer its number of definitions, or its status if it is not fresh. `rules=error` is
 * added if rules could not be read.
 */
export function layersText(view: CatalogView): string {
  const layers = LAYERS.map((layer) => {
    const { status, snapshot } = view.layers[layer]
    return `${layer}=${status === 'fresh' ? snapshot.byName.size : status}`
  })
  return [...layers, ...(view.hasLostRules ? ['rules=error'] : [])].join(',')
}

const NAMES_IN_HEADER = 20

/**
 * The value of a header that lists names. It has at most 20 names, then the number of the other names, for example `+3`. Names
 * that are not valid are never shown.
 */
export function namesText(names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined
  const shown = names.filter(isToolName).slice(0, NAMES_IN_HEADER)
  const more = names.length - shown.length
  return [...shown, ...(more > 0 ? [`+${more}`] : [])].join(',')
}
