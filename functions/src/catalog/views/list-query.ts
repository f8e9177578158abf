import { isToolName, LAYERS, type Dialect, type Layer, type NameFilter } from '@toolrack/contract'

export const ENVELOPES = ['array', 'items'] as const
export type Envelope = (typeof ENVELOPES)[number]

/** Which names the items of a list have. An alias is a name that every vendor takes. */
export const ITEM_NAMES = ['canonical', 'alias'] as const
export type ItemNames = (typeof ITEM_NAMES)[number]

/** What a list has if its query does not say it. */
export type ListDefaults = { readonly envelope: Envelope; readonly itemNames?: ItemNames | undefined }

/** The most items of one page. The next page needs another request. */
export const PAGE_MAX = 1_000
/** How many different tags, and how many different categories, one query may name. Each is compared with every tool. */
export const FILTER_VALUES_MAX = 50

export type ListQuery = {
  readonly names: NameFilter
  readonly tags: ReadonlySet<string>
  readonly categories: ReadonlySet<string>
  /** The vendor whose dialect the list has. Undefined for a list without conversion. */
  readonly dialect: Dialect | undefined
  readonly envelope: Envelope
  readonly itemNames: ItemNames
  readonly strict: boolean
  readonly limit: number | undefined
  /** The words that the tools must fit. The list is then in the order of how well they fit. */
  readonly q: string | undefined
  /** True if each found tool says how well it fits, and names its twins. */
  readonly explainsScores: boolean
  /** True if the list begins with the tools by which a model finds more tools. */
  readonly withSearch: boolean
  /** Names that stand at the end of the list, in this order, whatever the other filters say. */
  readonly loaded: readonly string[]
  readonly after: Position | undefined
  /** The most tokens that the list may take. Undefined for a list without this bound. */
  readonly budget: number | undefined
  /** True if the answer says what the list takes. Always true with a budget. */
  readonly countsTokens: boolean
}

/** A position in the order of the catalog: after this layer and name. Remains valid if the definition is deleted. */
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

/** Undefined for a text that `writeCursor` cannot have written. */
export function readCursor(cursor: string): Position | undefined {
  const [first, name = ''] = Buffer.from(cursor, 'base64url').toString('latin1').split('/')
  const layer = LAYERS.find((known) => known === first)
  if (!layer || !isToolName(name)) return undefined
  return writeCursor({ layer, name }) === cursor ? { layer, name } : undefined
}
