import { ToolrackError } from '@toolrack/contract'

/**
 * Bytes that each name and each version counts in addition to its texts. They stand for times, author, and index entries of a
 * store.
 */
export const RECORD_BYTES = 512

/** How much a layer may hold. */
export type LayerLimits = {
  readonly definitionsMax: number
  /** The limit of `bytes` in `LayerTotals`. */
  readonly bytesMax: number
  /** The most deleted definitions and modules whose versions are kept. */
  readonly deletedMax: number
}

/** The limits of a layer. A user's layer has room for 2,000 definitions of 8 KB, each with one older version. */
export const LAYER_LIMITS = {
  user: { definitionsMax: 2_000, bytesMax: 64 * 1024 * 1024, deletedMax: 2_000 },
  // Only administrators write the global layer, so it may be larger.
  global: { definitionsMax: 100_000, bytesMax: 1024 * 1024 * 1024, deletedMax: 100_000 },
} as const satisfies Readonly<Record<string, LayerLimits>>

/** Bytes that all layers of an embedded store may hold together: a full global layer and 16 full user layers. */
export const STORE_BYTES_MAX = 2 * 1024 * 1024 * 1024

/**
 * How much a layer contains. Each transaction that changes the layer updates these numbers. Definitions, modules and their
 * present versions are never removed to make room. All other content is past content. If there is no room, the oldest past
 * content is removed.
 */
export type LayerTotals = {
  readonly bytes: number
  readonly presentBytes: number
  /** The number of deleted definitions and modules whose versions are kept. */
  readonly deleted: number
}

export const NO_TOTALS: LayerTotals = { bytes: 0, presentBytes: 0, deleted: 0 }

/** The totals after content has changed from `before` to `after`. */
export function replaced(totals: LayerTotals, before: LayerTotals, after: LayerTotals): LayerTotals {
  return {
    bytes: totals.bytes - before.bytes + after.bytes,
    presentBytes: totals.presentBytes - before.presentBytes + after.presentBytes,
    deleted: totals.deleted - before.deleted + after.deleted,
  }
}

/** The bytes of a module: `own` for its record, and `version` for its present version. */
export type ContentBytes = { readonly own: number; readonly version: number }

/** The bytes of a record that contains these texts. */
export function recordBytes(...texts: readonly (string | null)[]): number {
  return texts.reduce((sum, text) => sum + (text === null ? 0 : Buffer.byteLength(text)), RECORD_BYTES)
}

/**
 * The bytes that a module counts. `kept` is its `keptText`. If several versions have the same text, each of them counts it,
 * although a store keeps the text once.
 */
export function moduleBytes(module: {
  readonly kept: string
  /** The `lockText` of its packages, if it has any. */
  readonly lock: string | null
  readonly report: string
  /** Its `grantsText`. Null in a record of an earlier version. */
  readonly granted: string | null
  readonly tools: readonly string[]
}): ContentBytes {
  const tools = JSON.stringify(module.tools)
  return {
    own: recordBytes(module.report, tools, module.granted),
    version: recordBytes(module.kept, tools, module.lock),
  }
}

/** The used space and the limits of a layer. If the store has a limit too, also those of the store. */
export type Room = {
  readonly size: number
  /** Undefined if the bytes of the layer were never counted. */
  readonly totals: LayerTotals | undefined
  readonly limits: LayerLimits
  readonly store?: StoreRoom | undefined
}

export type StoreRoom = {
  /** The present bytes of all layers, including this one. */
  readonly presentBytes: number
  readonly bytesMax: number
  readonly layers: number
}

/** The numbers by which a write changes the totals of its layer. */
export type Growth = { readonly created: number; readonly size: number; readonly presentBytes: number }

/**
 * Refuses a write for which there is too little room even after all past content is removed. Bytes that the write removes make
 * room for those that it adds. A write that makes a full layer smaller is never refused.
 *
 * Throws LAYER_FULL if the writer's layer is too large, and STORE_FULL if other layers are too large.
 */
export function refuseOverflow({ size, totals, limits, store }: Room, growth: Growth): void {
  if (growth.created > 0 && size + growth.size > limits.definitionsMax)
    throw new ToolrackError(
      'LAYER_FULL',
      `The layer holds ${size} definitions and may hold ${limits.definitionsMax}; delete some first. Nothing was written.`,
    )
  if (!totals || growth.presentBytes <= 0) return
  const held = inMB(totals.presentBytes)
  if (totals.presentBytes + growth.presentBytes > limits.bytesMax)
    throw new ToolrackError(
      'LAYER_FULL',
      `The layer's definitions and modules hold ${held} MB, this write adds ${inMB(growth.presentBytes)} MB, and the layer may hold ${inMB(limits.bytesMax)} MB; delete definitions or modules, or make them smaller. Nothing was written.`,
    )
  if (!store || store.presentBytes + growth.presentBytes <= store.bytesMax) return
  const whole = `The store holds ${inMB(store.presentBytes)} MB for ${store.layers} layers and may hold ${inMB(store.bytesMax)} MB`
  if (totals.presentBytes + growth.presentBytes > store.bytesMax / Math.max(store.layers, 1))
    throw new ToolrackError(
      'LAYER_FULL',
      `${whole}; this layer holds ${held} MB, which is more than its share: delete definitions or modules. Nothing was written.`,
    )
  throw new ToolrackError(
    'STORE_FULL',
    `${whole}; this layer holds ${held} MB and is not the reason: the operator has to raise TOOLRACK_STORE_MB. Nothing was written.`,
  )
}

/** The bytes in MB: with three decimals below 1 MB, otherwise with one. */
function inMB(bytes: number): string {
  return (bytes / (1024 * 1024)).toFixed(bytes < 1024 * 1024 ? 3 : 1)
}
