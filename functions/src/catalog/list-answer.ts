import { isToolName, LAYERS, ToolrackError } from '@toolrack/contract'
import type { CatalogEntry } from './catalog-entry.ts'
import type { CatalogView } from './catalog-view.ts'
import { writeCursor } from './cursor.ts'
import type { ListQuery } from './list-query.ts'
import { ANSWER_BYTES_MAX, selectEntries } from './select-entries.ts'

/** A list, ready to be sent, and what is to be said about it. */
export type ListAnswer = {
  readonly body: Buffer
  /** `user=3,global=41,file=14`, before merge and filter. */
  readonly layers: string
  /** Requested names that do not exist, for a header; undefined when there are none. */
  readonly unknown: string | undefined
  /** Where the next page starts; undefined on the last one. */
  readonly nextCursor: string | undefined
}

/** Builds a list by joining what was serialised when the definitions were read. */
export function listAnswer(view: CatalogView, query: ListQuery, defaultWorkflow: string): ListAnswer {
  const { entries, unknown, hasMore } = selectEntries(view, query)
  const last = entries.at(-1)
  return {
    body: query.envelope === 'items' ? joinItems(entries, defaultWorkflow) : joinArray(entries),
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
function namesText(names: readonly string[]): string {
  const shown = names.filter(isToolName).slice(0, NAMES_IN_HEADER)
  const more = names.length - shown.length
  return [...shown, ...(more > 0 ? [`+${more}`] : [])].join(',')
}

const NOTHING = Buffer.alloc(0)
const COMMA = ','.charCodeAt(0)
const ARRAY = { open: Buffer.from('['), close: Buffer.from(']') }
const ITEMS = { open: Buffer.from('{"items":['), close: Buffer.from(']}') }

function joinArray(entries: readonly CatalogEntry[]): Buffer {
  return join(ARRAY, entries, { cut: 0, of: () => NOTHING })
}

/** An item is the listed tool with one more key: its fragment without the closing brace, and the key's text. */
function joinItems(entries: readonly CatalogEntry[], defaultWorkflow: string): Buffer {
  const tails = new Map<string, Buffer>()
  function tailOf({ workflowName = defaultWorkflow }: CatalogEntry): Buffer {
    const known = tails.get(workflowName)
    if (known) return known
    const tail = Buffer.from(`,"workflowName":${JSON.stringify(workflowName)}}`)
    tails.set(workflowName, tail)
    return tail
  }
  return join(ITEMS, entries, { cut: 1, of: tailOf })
}

/** What follows each fragment, and how many bytes of the fragment's end it takes the place of. */
type Tails = { readonly cut: number; readonly of: (entry: CatalogEntry) => Buffer }

/** Measures, then copies once: no list of parts is made on the way. */
function join(
  ends: { readonly open: Buffer; readonly close: Buffer },
  entries: readonly CatalogEntry[],
  tails: Tails,
): Buffer {
  let bytes = ends.open.length + ends.close.length + Math.max(0, entries.length - 1)
  for (const entry of entries) bytes += entry.fragment.length - tails.cut + tails.of(entry).length
  if (bytes > ANSWER_BYTES_MAX) {
    throw new ToolrackError(
      'ANSWER_TOO_LARGE',
      `The list is ${bytes} bytes and an answer may have ${ANSWER_BYTES_MAX}; page it with limit (at most 1000) and cursor.`,
    )
  }
  const body = Buffer.allocUnsafe(bytes)
  body.set(ends.open)
  let at = ends.open.length
  for (const [index, entry] of entries.entries()) {
    if (index > 0) body[at++] = COMMA
    body.set(entry.fragment, at)
    at += entry.fragment.length - tails.cut
    const tail = tails.of(entry)
    body.set(tail, at)
    at += tail.length
  }
  body.set(ends.close, at)
  return body
}
