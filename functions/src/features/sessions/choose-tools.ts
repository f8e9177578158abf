import { isToolName, ToolrackError } from '@toolrack/contract'
import type { CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import type { CatalogView } from '../../catalog/views/catalog-view.ts'
import { nearMiss } from '../../catalog/schemas/near-miss.ts'
import { SESSION_TOOLS_MAX, type AskedSelection } from './session.ts'
import type { SessionSelection } from '../../catalog/views/session-selection.ts'

/** The most tools that an error names, so that people can read the error. */
const NAMED_MAX = 20
/** The most tools for which an error suggests a similar name. Each suggestion compares many names, which takes some 10 ms. */
const SUGGESTED_MAX = 3

type Outer = Pick<SessionSelection, 'id' | 'names'> | undefined

/**
 * The selection with the canonical names of its tools, sorted by code unit. Throws SELECTION_INVALID if the view has no tool with
 * one of the names, and SELECTION_WIDER if the parent session does not have one of the tools.
 */
export function chosenNames(view: CatalogView, asked: AskedSelection, parent: Outer): AskedSelection {
  if (typeof asked === 'string') return asked
  const entries = entriesOf(view, asked)
  const names = [...new Set(entries.map(({ name }) => name))].toSorted()
  refuseTooMany(names.length)
  refuseWider(names, parent)
  return names.length === 0 ? 'none' : names
}

/**
 * The tools that the view has now for a selection. Throws as `chosenNames` does, and LAYER_UNAVAILABLE if some tools may be
 * missing from the view.
 */
export function lockedTools(
  view: CatalogView,
  asked: AskedSelection,
  parent: Outer,
): readonly CatalogEntry[] {
  if (asked === 'none') return []
  if (asked !== 'all') {
    refuseWider(asked, parent)
    return entriesOf(view, asked)
  }
  if (view.lostLayers.length > 0) throw layerLost(view)
  const entries: CatalogEntry[] = []
  const names = parent?.names ?? 'all'
  for (const entry of names === 'all' ? view.entries() : named(view, names)) {
    entries.push(entry)
    refuseTooMany(entries.length)
  }
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function* named(view: CatalogView, names: ReadonlySet<string>): Generator<CatalogEntry> {
  for (const name of names) {
    const entry = view.winner(name)
    if (entry && view.resolve(name) === entry) yield entry
  }
}

function entriesOf(view: CatalogView, asked: readonly string[]): readonly CatalogEntry[] {
  const entries: CatalogEntry[] = []
  const faults: Fault[] = []
  for (const [index, name] of asked.entries()) {
    const entry = view.resolve(name)
    if (entry) entries.push(entry)
    else if (faults.length < NAMED_MAX) faults.push(faultOf(view, name, index, faults.length < SUGGESTED_MAX))
  }
  if (faults.length === 0) return entries
  if (view.lostLayers.length > 0) throw layerLost(view)
  throw invalid(faults, asked.length - entries.length)
}

type Fault = { readonly pointer: string; readonly message: string; readonly suggestion?: string }

/**
 * The fault of a name for which there is no tool. A text that cannot be the name of a tool is not repeated. The pointer says
 * where it is.
 */
function faultOf(view: CatalogView, name: string, index: number, hasSuggestion: boolean): Fault {
  const pointer = `/selection/${index}`
  const pending = view.whyPending(name)
  if (pending !== undefined) return { pointer, message: `names a tool that waits for consent. ${pending}` }
  const denied = view.hiddenBy(name)
  if (denied) return { pointer, message: `names a tool that a rule denies. ${denied.reason}` }
  const suggestion = hasSuggestion ? nearMiss(name, namesIn(view)) : undefined
  const message = isToolName(name)
    ? `names '${name}', and you can list no such tool`
    : 'names no tool: it is not a name that a tool can have'
  return { pointer, message, ...(suggestion !== undefined && { suggestion }) }
}

function* namesIn(view: CatalogView): Generator<string> {
  for (const { name } of view.entries()) yield name
}

function invalid(faults: readonly Fault[], count: number): ToolrackError {
  const [first] = faults
  const more = count > 1 ? ` (and ${count - 1} more, see details)` : ''
  const hint = first?.suggestion === undefined ? '' : ` Did you mean '${first.suggestion}'?`
  const message = `The body at ${first?.pointer} ${first?.message.replace(/\.$/, '')}${more}.${hint}`
  const details = faults.map((fault) => ({ reason: 'SELECTION_INVALID' as const, ...fault }))
  return new ToolrackError('SELECTION_INVALID', message, { details })
}

function refuseTooMany(count: number): void {
  if (count <= SESSION_TOOLS_MAX) return
  const message = `A session can have ${SESSION_TOOLS_MAX} tools, and these are more; choose the tools that it needs.`
  throw new ToolrackError('SELECTION_INVALID', message)
}

/** Throws SELECTION_WIDER if the parent session does not have all of these tools. The error names those that it does not have. */
function refuseWider(names: readonly string[], parent: Outer): void {
  if (!parent || parent.names === 'all') return
  const allowed = parent.names
  const wider = names.filter((name) => !allowed.has(name))
  if (wider.length === 0) return
  const shown = wider.slice(0, NAMED_MAX)
  const more = wider.length > shown.length ? `, +${wider.length - shown.length}` : ''
  throw new ToolrackError(
    'SELECTION_WIDER',
    `The parent session ${parent.id} does not have these tools: ${shown.join(', ')}${more}. Choose fewer, or "all" for those of the parent.`,
    { details: shown.map((tool) => ({ reason: 'SELECTION_WIDER', tool })) },
  )
}

function layerLost(view: CatalogView): ToolrackError {
  const lost = view.lostLayers.join(' and ')
  return new ToolrackError(
    'LAYER_UNAVAILABLE',
    `The layer ${lost}, which may have tools of the selection, could not be read; try again.`,
  )
}
