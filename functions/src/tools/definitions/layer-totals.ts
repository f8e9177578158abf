/** What each name, and each version of it, counts beside its texts: times, author, and its places in the indexes of a store. */
export const RECORD_BYTES = 512

/** How much a layer may hold. */
export type LayerLimits = {
  readonly definitionsMax: number
  /** Counted as `LayerTotals` counts. */
  readonly bytesMax: number
  /** How many names of deleted definitions and modules are kept, for their versions. */
  readonly deletedMax: number
}

/** A user: 2,000 definitions of 8 KB with another version each. The global layer is written by administrators alone. */
export const LAYER_LIMITS = {
  user: { definitionsMax: 2_000, bytesMax: 64 * 1024 * 1024, deletedMax: 2_000 },
  global: { definitionsMax: 100_000, bytesMax: 1024 * 1024 * 1024, deletedMax: 100_000 },
} as const satisfies Readonly<Record<string, LayerLimits>>

/** What all layers of an embedded store may hold together: the global layer full, and 16 full users. */
export const STORE_BYTES_MAX = 2 * 1024 * 1024 * 1024

/**
 * What a layer holds, counted in its own state in the transaction that changes it. What is present can't go: definitions,
 * modules, and the version that each of them is. Everything else is past, and its oldest goes when there is no room.
 */
export type LayerTotals = {
  readonly bytes: number
  readonly presentBytes: number
  /** Names of deleted definitions and modules whose versions are kept. */
  readonly deleted: number
}

export const NO_TOTALS: LayerTotals = { bytes: 0, presentBytes: 0, deleted: 0 }

/** The bytes of a definition or a module: of what is kept under its name, and of the version that it is. */
export type ContentBytes = { readonly own: number; readonly version: number }

/** What lies under a name: nothing, what is left of something deleted, or a content. */
export type UnderName = 'nothing' | 'deleted' | ContentBytes

/** A record with these texts in it, in bytes. */
export function recordBytes(...texts: readonly (string | null)[]): number {
  return texts.reduce((sum, text) => sum + (text === null ? 0 : Buffer.byteLength(text)), RECORD_BYTES)
}

export function definitionBytes(text: string): ContentBytes {
  const bytes = recordBytes(text)
  return { own: bytes, version: bytes }
}

/** A source counts for each version that has it, though it lies in the store once. */
export function moduleBytes(module: {
  readonly source: string
  readonly report: string
  readonly tools: readonly string[]
}): ContentBytes {
  const tools = JSON.stringify(module.tools)
  return { own: recordBytes(module.report, tools), version: recordBytes(module.source, tools) }
}

/** How much more is present after a change. */
export function presentGrowth(before: UnderName, after: UnderName): number {
  return presentBytes(after) - presentBytes(before)
}

/** The totals after a change, which adds a version: the content, or its deletion. */
export function afterChange(
  totals: LayerTotals,
  before: UnderName,
  after: Exclude<UnderName, 'nothing'>,
): LayerTotals {
  const version = after === 'deleted' ? RECORD_BYTES : after.version
  return {
    bytes: totals.bytes + ownBytes(after) - ownBytes(before) + version,
    presentBytes: totals.presentBytes + presentGrowth(before, after),
    deleted: totals.deleted + Number(after === 'deleted') - Number(before === 'deleted'),
  }
}

/** The totals without a past version, and without the name if that was the last of a deleted one. */
export function afterForgotten(totals: LayerTotals, versionBytes: number, isNameGone: boolean): LayerTotals {
  return {
    ...totals,
    bytes: totals.bytes - versionBytes - (isNameGone ? RECORD_BYTES : 0),
    deleted: totals.deleted - Number(isNameGone),
  }
}

function presentBytes(under: UnderName): number {
  return typeof under === 'string' ? 0 : under.own + under.version
}

function ownBytes(under: UnderName): number {
  if (under === 'nothing') return 0
  return under === 'deleted' ? RECORD_BYTES : under.own
}
