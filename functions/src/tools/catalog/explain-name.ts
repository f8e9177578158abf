import type { Layer } from '@toolrack/contract'
import { aliasOf, LAYERS } from '@toolrack/contract'
import type { CatalogEntry } from './catalog-entry.ts'
import type { CatalogView } from './catalog-view.ts'
import { explainDialects } from './explain-dialects.ts'
import type { DialectExplanations } from './explain-dialects.ts'
import type { SkippedItem } from './layer-source.ts'

export type LayerExplanation = {
  readonly layer: Layer
  /** `stale` says that the layer could not be read and its last known state was looked at. */
  readonly status: 'found' | 'absent' | 'error'
  readonly stale: boolean
  readonly role?: 'winner' | 'shadowed' | 'sealed-out'
  readonly digest?: string
  readonly revision?: string
  readonly sealed?: boolean
  readonly source?: string
  /** What the layer holds of that name and can not serve. */
  readonly skipped?: readonly SkippedItem[]
}

/** `DIGEST_CHANGED`: the token names the tool, and its definition is no longer the one that the token names. */
export type HiddenReason = 'NOT_DEFINED' | 'LAYER_LOST' | 'DIGEST_CHANGED'

export type Explanation = {
  readonly name: string
  readonly alias: string
  readonly revision: string
  /** Whether the caller's list shows the tool. */
  readonly visible: boolean
  readonly winner: Layer | null
  readonly shadowed: readonly Layer[]
  /** Null where nothing is called so, and where nobody runs a tool of that kind in this version. */
  readonly callable: 'service' | 'client' | null
  /** Why the caller's list does not show it. */
  readonly hidden: { readonly reason: HiddenReason; readonly message: string } | null
  readonly layers: readonly LayerExplanation[]
  /** How each vendor is told of the tool; null where nothing is called so. */
  readonly dialects: DialectExplanations | null
}

/** Says for one name or alias what every layer holds, which definition wins, and why. */
export function explainName(view: CatalogView, nameOrAlias: string): Explanation {
  const winner = view.resolve(nameOrAlias)
  const name = winner?.name ?? nameOrAlias
  const layers = LAYERS.map((layer) => explainLayer(view, layer, name, winner))
  return {
    name,
    alias: aliasOf(name),
    revision: view.revision,
    visible: winner !== undefined,
    winner: winner?.layer ?? null,
    shadowed: layers
      .filter(({ role }) => role === 'shadowed' || role === 'sealed-out')
      .map(({ layer }) => layer),
    callable: winner?.callable ?? null,
    hidden: winner ? null : whyHidden(view, name, layers),
    layers,
    dialects: winner ? explainDialects(view, winner) : null,
  }
}

function explainLayer(
  view: CatalogView,
  layer: Layer,
  name: string,
  winner: CatalogEntry | undefined,
): LayerExplanation {
  const state = view.layers[layer]
  const stale = state.status === 'stale'
  if (!state.snapshot) return { layer, status: 'error', stale }
  const entry = state.snapshot.byName.get(name)
  const items = state.snapshot.skipped.filter((item) => item.name === name)
  const skipped = items.length > 0 ? { skipped: items } : {}
  if (!entry) return { layer, status: 'absent', stale, ...skipped }
  const { digest, sealed } = entry
  const { revision, source } = entry.stored
  const role =
    entry === winner
      ? 'winner'
      : winner && LAYERS.indexOf(winner.layer) > LAYERS.indexOf(layer)
        ? 'sealed-out'
        : 'shadowed'
  return {
    layer,
    status: 'found',
    stale,
    role,
    digest,
    revision,
    sealed,
    ...(source !== undefined && { source }),
    ...skipped,
  }
}

function whyHidden(
  view: CatalogView,
  name: string,
  layers: readonly LayerExplanation[],
): Explanation['hidden'] {
  const lost = view.lostLayers
  if (lost.length === 0 && view.hasChanged(name))
    return {
      reason: 'DIGEST_CHANGED',
      message: 'The definition is no longer the one that the token names; a new token is needed.',
    }
  if (lost.length === 0) return { reason: 'NOT_DEFINED', message: whyNotDefined(layers) }
  return {
    reason: 'LAYER_LOST',
    message: `No layer that could be read defines this name; ${lost.join(' and ')} could not be read.`,
  }
}

function whyNotDefined(layers: readonly LayerExplanation[]): string {
  const broken = layers.filter(({ skipped }) => skipped).map(({ layer }) => layer)
  if (broken.length === 0) return 'No layer defines this name.'
  return `No layer defines this name; what ${broken.join(' and ')} holds of it can not be served, see skipped.`
}
