import { ToolrackError } from '@toolrack/contract'
import type { LayerLimits, LayerTotals } from './layer-totals.ts'

/** How much a layer holds and may hold; and the whole store, where that is bounded. */
export type Room = {
  readonly size: number
  /** Undefined where a layer's bytes were never counted. */
  readonly totals: LayerTotals | undefined
  readonly limits: LayerLimits
  readonly store?: StoreRoom
}

export type StoreRoom = {
  /** What is present in every layer, this one included. */
  readonly presentBytes: number
  readonly bytesMax: number
  readonly layers: number
}

/** What a write would add, what it takes away subtracted. */
export type Growth = { readonly created: number; readonly size: number; readonly presentBytes: number }

/**
 * Refuses a write that would have to put something present out of the store. What the same write takes away makes room for what
 * it adds, and a write that makes less of what there is too much of is never refused.
 * Throws LAYER_FULL where the writer's layer is too large, and STORE_FULL where other layers are.
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

/** With as many decimals as a small layer needs. */
function inMB(bytes: number): string {
  return (bytes / (1024 * 1024)).toFixed(bytes < 1024 * 1024 ? 3 : 1)
}
