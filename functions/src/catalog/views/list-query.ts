import { isToolName, LAYERS, type Dialect, type Layer, type NameFilter } from '@toolrack/contract'
import type { LayeredDigest } from './catalog-entry.ts'

export const ENVELOPES = ['array', 'items'] as const
export type Envelope = (typeof ENVELOPES)[number]

/** Which name the items of a list have: the tool's own name, or its alias, which every vendor accepts. */
export const ITEM_NAMES = ['canonical', 'alias'] as const
export type ItemNames = (typeof ITEM_NAMES)[number]

/** The shape of a list whose query does not ask for another one. */
export type ListDefaults = { readonly envelope: Envelope; readonly itemNames?: ItemNames | undefined }

/** The most items on one page. The rest needs another request. */
export const PAGE_MAX = 1_000
/**
 * The most different tags that one query may name, and the most different categories. Each of them is compared with every tool.
 */
export const FILTER_VALUES_MAX = 50

export type ListQuery = {
  readonly names: NameFilter
  readonly tags: ReadonlySet<string>
  readonly categories: ReadonlySet<string>
  /** The dialect of the list. Undefined for a list of definitions that are not converted. */
  readonly dialect: Dialect | undefined
  readonly envelope: Envelope
  readonly itemNames: ItemNames
  readonly strict: boolean
  /** True if the list leaves out tools that are not called now, because they have failed again and again. */
  readonly healthy: boolean
  /** Those tools, if the list leaves them out. */
  readonly unavailable?: ReadonlySet<LayeredDigest> | undefined
  readonly limit: number | undefined
  /** The words to search for. The list is then ordered by how well the tools fit them. */
  readonly q: string | undefined
  /** True if the list has the score of each found tool, and the names of tools that are nearly identical. */
  readonly explainsScores: boolean
  /** True if the list begins with the tools by which a model finds more tools. */
  readonly withSearch: boolean
  /** The names of the tools at the end of the list, in this order. They are in the list whatever the other filters are. */
  readonly loaded: readonly string[]
  readonly after: Position | undefined
  /** The most tokens that the list may take. Undefined for no limit. */
  readonly budget: number | undefined
  /** True if the answer has the number of tokens of the list. Always true with a budget. */
  readonly countsTokens: boolean
}

/** A position in the order of the catalog: after this layer and this name. It stays valid if the definition is deleted. */
export type Position = { readonly layer: Layer; readonly name: string }

/** The order of the catalog: by layer, then by code unit of the name. */
export function inOrder(a: Position, b: Position): number {
  const layers = LAYERS.indexOf(a.layer) - LAYERS.indexOf(b.layer)
  if (layers !== 0 || a.name === b.name) return layers
  return a.name < b.name ? -1 : 1
}

export function writeCursor({ layer, name }: Position): string {
  return Buffer.from(`${layer}/${name}`).toString('base64url')
}

/** The position that a cursor contains. Undefined for a text that `writeCursor` cannot have written. */
export function readCursor(cursor: string): Position | undefined {
  const [first, name = ''] = Buffer.from(cursor, 'base64url').toString('latin1').split('/')
  const layer = LAYERS.find((known) => known === first)
  if (!layer || !isToolName(name)) return undefined
  return writeCursor({ layer, name }) === cursor ? { layer, name } : undefined
}
