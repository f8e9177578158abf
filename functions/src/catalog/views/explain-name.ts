import { aliasOf, LAYERS, type Digest, type Grant, type Layer, type RuleDecision } from '@toolrack/contract'
import type { CatalogEntry } from './catalog-entry.ts'
import type { CatalogView, LeftOut } from './catalog-view.ts'
import type { Pieces } from '../../loop-turn.ts'
import { explainDialects, type DialectExplanations } from './explain-dialects.ts'
import type { SkippedItem } from './layer-source.ts'
import { grantsOfModule } from './module-grants.ts'
import { whyPending } from './why-pending.ts'

export type LayerExplanation = {
  readonly layer: Layer
  readonly status: 'found' | 'absent' | 'error'
  /** True if the layer could not be read, so that its last known content is explained. */
  readonly stale: boolean
  readonly role?: 'winner' | 'shadowed' | 'sealed-out'
  readonly digest?: string
  readonly revision?: string
  readonly sealed?: boolean
  readonly source?: string
  readonly skipped?: readonly SkippedItem[]
}

export type Explanation = {
  readonly name: string
  readonly alias: string
  readonly revision: string
  readonly visible: boolean
  readonly winner: Layer | null
  readonly shadowed: readonly Layer[]
  /** The side that runs the tool. Null if there is no such tool, or if this version of the service cannot run it. */
  readonly callable: 'service' | 'client' | null
  /**
   * `DIGEST_CHANGED`: the token names the tool with another digest than its definition has now. `NOT_GRANTED`: the token does
   * not name the tool. `GRANTS_PENDING`: nobody has accepted the grants of its module yet. `DENIED`: a rule denies every call,
   * see `decision`. `OUT_OF_SCOPE`: the scope in `scope` leaves the tool out of the list, but it can be called. `NOT_SELECTED`:
   * the tool is not in the selection of the session.
   */
  readonly hidden:
    | LeftOut
    | {
        readonly reason: 'NOT_DEFINED' | 'NOT_GRANTED' | 'LAYER_LOST' | 'DIGEST_CHANGED' | 'DENIED'
        readonly message: string
        readonly decision?: RuleDecision
      }
    | HiddenUntilConsent
    | null
  readonly layers: readonly LayerExplanation[]
  /** The tool in each dialect. Null if there is no such tool. */
  readonly dialects: DialectExplanations | null
}

/** A tool that waits for consent to the grants of its module. `grantsDigest` is what a person accepts. */
export type HiddenUntilConsent = {
  readonly reason: 'GRANTS_PENDING'
  readonly message: string
  readonly grants: readonly Grant[]
  readonly grantsDigest: Digest
}

/** Explains one name or alias: its definition in every layer, which definition wins, and why. */
export function* explainName(view: CatalogView, nameOrAlias: string): Pieces<Explanation> {
  yield* view.readAliases()
  const winner = view.resolve(nameOrAlias)
  const name = view.meaning(nameOrAlias)?.name ?? nameOrAlias
  const layers = LAYERS.map((layer) => explainLayer(view, layer, name, view.meaning(name)))
  const losers = layers.filter(({ role }) => role === 'shadowed' || role === 'sealed-out')
  return {
    name,
    alias: aliasOf(name),
    revision: view.revision,
    visible: winner !== undefined,
    winner: winner?.layer ?? null,
    shadowed: losers.map(({ layer }) => layer),
    callable: winner?.callable ?? null,
    hidden: winner ? null : yield* whyHidden(view, name, layers),
    layers,
    dialects: winner ? yield* explainDialects(view, winner) : null,
  }
}

function explainLayer(
  view: CatalogView,
  layer: Layer,
  name: string,
  winner?: CatalogEntry,
): LayerExplanation {
  const { status, snapshot } = view.layers[layer]
  const stale = status === 'stale'
  if (!snapshot) return { layer, status: 'error', stale }
  const entry = snapshot.byName.get(name)
  const items = snapshot.skipped.filter((item) => item.name === name)
  const skipped = items.length > 0 ? { skipped: items } : {}
  if (!entry) return { layer, status: 'absent', stale, ...skipped }
  const { digest, sealed, stored } = entry
  const { revision, source } = stored
  const facts = {
    role: roleOf(entry, winner),
    digest,
    revision,
    sealed,
    ...(source !== undefined && { source }),
  }
  return { layer, status: 'found', stale, ...facts, ...skipped }
}

/** The role of a definition in the layer that has it. If the winner is in a layer below, that layer has sealed the name. */
function roleOf(entry: CatalogEntry, winner?: CatalogEntry): NonNullable<LayerExplanation['role']> {
  if (entry === winner) return 'winner'
  const isBelow = winner && LAYERS.indexOf(winner.layer) > LAYERS.indexOf(entry.layer)
  return isBelow ? 'sealed-out' : 'shadowed'
}

/**
 * Why no tool is visible under this name. The reasons are checked in the order in which a call would be refused. A scope comes
 * after the rules, because a tool that it leaves out can still be called.
 */
function* whyHidden(
  view: CatalogView,
  name: string,
  layers: readonly LayerExplanation[],
): Pieces<Explanation['hidden']> {
  const leftOut = view.filteredOut(name)
  if (leftOut?.reason === 'NOT_SELECTED') return leftOut
  const pending = yield* whyWaiting(view, name)
  if (pending) return pending
  const decision = view.hiddenBy(name)
  if (decision) return { reason: 'DENIED', message: decision.reason, decision }
  if (leftOut) return leftOut
  const notGranted = view.notGranted(name)
  if (notGranted !== undefined) return { reason: 'NOT_GRANTED', message: notGranted }
  if (view.lostLayers.length > 0) {
    const lost = view.lostLayers.join(' and ')
    const message = `No layer that could be read defines this name; ${lost} could not be read.`
    return { reason: 'LAYER_LOST', message }
  }
  if (view.hasChanged(name)) {
    const message = 'The definition is no longer the one that the token names; a new token is needed.'
    return { reason: 'DIGEST_CHANGED', message }
  }
  const broken = layers.filter(({ skipped }) => skipped).map(({ layer }) => layer)
  const cause = `; what ${broken.join(' and ')} holds of it cannot be served, see skipped`
  const message = `No layer defines this name${broken.length > 0 ? cause : ''}.`
  return { reason: 'NOT_DEFINED', message }
}

function* whyWaiting(view: CatalogView, name: string): Pieces<HiddenUntilConsent | undefined> {
  const entry = view.meaning(name)
  const message = entry && whyPending(entry)
  if (entry?.pendingGrants === undefined || message === undefined) return undefined
  const { grants = entry.grants } = (yield* grantsOfModule(view, entry)) ?? {}
  return { reason: 'GRANTS_PENDING', message, grants, grantsDigest: entry.pendingGrants }
}
