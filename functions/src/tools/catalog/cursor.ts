import type { Layer } from '@toolrack/contract'
import { isToolName, LAYERS } from '@toolrack/contract'

/** A place in the order of the catalog: after this layer and name. Valid whether or not the definition still exists. */
export type Position = { readonly layer: Layer; readonly name: string }

export function writeCursor({ layer, name }: Position): string {
  return Buffer.from(`${layer}/${name}`).toString('base64url')
}

/** Undefined for a text that `writeCursor` can't have written. */
export function readCursor(cursor: string): Position | undefined {
  const text = Buffer.from(cursor, 'base64url').toString('latin1')
  const slash = text.indexOf('/')
  const layer = LAYERS.find((known) => known === text.slice(0, Math.max(slash, 0)))
  const name = text.slice(slash + 1)
  if (!layer || !isToolName(name)) return undefined
  return writeCursor({ layer, name }) === cursor ? { layer, name } : undefined
}

/** Whether an entry comes later in the catalog's order than a position. */
export function isAfter(entry: Position, position: Position): boolean {
  const layers = LAYERS.indexOf(entry.layer) - LAYERS.indexOf(position.layer)
  return layers === 0 ? entry.name > position.name : layers > 0
}
