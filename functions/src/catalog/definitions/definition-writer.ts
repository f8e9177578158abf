import { isJsonObject, isToolName, ToolrackError, type JsonValue } from '@toolrack/contract'
import type { Principal } from '../../access/principal.ts'
import { Turns } from '../../loop-turn.ts'
import type { Catalog } from '../views/catalog.ts'
import type { CatalogView } from '../views/catalog-view.ts'
import type { StoredLayer } from '../views/layer-source.ts'
import type { RequestCompiler, SchemaCompilers } from '../schemas/schema-compilers.ts'
import { admitDefinition, type Admission, type AdmittedDefinition } from './admit-definition.ts'
import type { DefinitionChange, DefinitionPut, OnConflict, WriteContext } from './definition-change.ts'
import type { Precondition } from '../../precondition.ts'
import { withTokens } from './count-puts.ts'
import { nameFaults, sealedFault, type DefinitionFault } from './definition-fault.ts'
import type { DefinitionStore } from './definition-store.ts'
import { reshape } from './loose-shape.ts'
import { withoutPending } from './pending-text.ts'
import { LAYER_LIMITS } from './layer-totals.ts'
import { writeAnswer, type BulkAnswer, type ItemFault, type WriteAnswer } from './write-answer.ts'

/** How many definitions one request may contain. The schema of each one has to be checked. */
export const BULK_MAX = 200

export type WritableLayer = StoredLayer['kind']

/** The definition or module that a request writes. `signal` is aborted when the caller has disconnected. */
export type WriteTarget = {
  readonly layer: WritableLayer
  readonly name: string
  readonly precondition: Precondition
  readonly signal?: AbortSignal | undefined
}

type Parts = {
  readonly store: DefinitionStore
  readonly catalog: Catalog
  readonly compilers: SchemaCompilers
}

/** Makes every change of definitions. Its callers must check first whether the user has access. */
export class DefinitionWriter {
  readonly #parts: Parts

  constructor({ store, catalog, compilers }: Parts) {
    this.#parts = { store, catalog, compilers }
  }

  /** Writes one definition. `sent` is the body of the request, which may omit the name. */
  async put(principal: Principal, target: WriteTarget, sent: JsonValue): Promise<WriteAnswer> {
    const { layer, name, precondition, signal } = target
    const { catalog, compilers } = this.#parts
    const view = await catalog.view(principal)
    const faults = nameFaults(view, name, '/name')
    if (faults.length > 0) throw definitionError(faults)
    const compiler = compilers.forCaller({ user: principal.uid, signal })
    const admission = await admitNamed(view, layer, withName(sent, name), compiler)
    if ('faults' in admission) throw definitionError(admission.faults)
    const puts = [putOf(admission, 'upsert', precondition)]
    const [outcome] = await this.#write(principal, layer, puts, new Turns(signal))
    return writeAnswer(view, layer, admission, must(outcome))
  }

  /**
   * Writes up to 200 definitions, all or none. With `onInvalid: 'skip'` it writes only the valid ones. Rejects, and writes
   * nothing, if the checks take too much time, or if the caller disconnects before the end of the checks.
   */
  async putAll(
    principal: Principal,
    layer: WritableLayer,
    sent: readonly JsonValue[],
    options: { onConflict: OnConflict; onInvalid: 'fail' | 'skip'; signal?: AbortSignal },
  ): Promise<BulkAnswer> {
    const { catalog, compilers } = this.#parts
    const view = await catalog.view(principal)
    const compiler = compilers.forCaller({ user: principal.uid, signal: options.signal })
    const refused: ItemFault[] = []
    const admitted: AdmittedDefinition[] = []
    const indexByName = new Map<string, number>()
    const turns = new Turns(options.signal)
    for (const [index, item] of sent.entries()) {
      compiler.goOn(index, sent.length)
      // Lets other requests run. A definition that is refused before its schema is compiled waits for nothing else, so many such
      // definitions would block the event loop.
      if (turns.isDue) await turns.give()
      const admission = await admitNamed(view, layer, item, compiler)
      const faults = 'faults' in admission ? admission.faults : twiceFaults(admission, indexByName, index)
      refused.push(...faults.map((fault) => ({ index, ...fault })))
      if (!('faults' in admission) && faults.length === 0) admitted.push(admission)
    }
    if (refused.length > 0 && options.onInvalid === 'fail') throw bulkError(refused, sent.length)
    const puts = admitted.map((admission) => putOf(admission, options.onConflict))
    const outcomes = puts.length > 0 ? await this.#write(principal, layer, puts, turns) : []
    const results = admitted.map((each, index) => writeAnswer(view, layer, each, must(outcomes[index])))
    return options.onInvalid === 'skip' ? { results, refused } : { results }
  }

  async delete(principal: Principal, { layer, name, precondition }: WriteTarget) {
    if (!isToolName(name)) throw new ToolrackError('TOOL_NOT_FOUND')
    const [outcome] = await this.#write(
      principal,
      layer,
      [{ kind: 'delete', name, precondition }],
      new Turns(),
    )
    return must(outcome)
  }

  /** Writes the content of an older version again, as a new version. */
  async rollback(
    principal: Principal,
    target: WriteTarget,
    choice: { readonly digest: string } | { readonly revision: string },
  ): Promise<WriteAnswer> {
    const layer = storedLayer(target.layer, principal.uid)
    const versions = await keptVersions(this.#parts.store, layer, target.name)
    const version = versions.find((candidate) => isChosen(candidate, choice))
    if (!version?.text) throw new ToolrackError('VERSION_NOT_FOUND')
    return this.put(principal, target, JSON.parse(withoutPending(version.text)) as JsonValue)
  }

  async #write(
    principal: Principal,
    layer: WritableLayer,
    changes: readonly DefinitionChange[],
    turns: Turns,
  ) {
    const { store, catalog } = this.#parts
    const counted = await withTokens(changes, turns)
    return writeLayer(catalog, principal, layer, (target, context) => store.write(target, counted, context))
  }
}

/**
 * The versions of a definition that are kept, the newest first. Rejects with TOOL_NOT_FOUND if there are none. The store does not
 * get an invalid name, because such a name could be a path to other data in the store.
 */
export async function keptVersions(store: DefinitionStore, layer: StoredLayer, name: string) {
  const versions = isToolName(name) ? await store.versions(layer, name) : []
  if (versions.length === 0) throw new ToolrackError('TOOL_NOT_FOUND')
  return versions
}

/**
 * Runs a write of a layer. Afterwards the layer is marked as written, even after an error, because the store may have done the
 * write.
 */
export async function writeLayer<Result>(
  catalog: Catalog,
  { uid }: Principal,
  layer: WritableLayer,
  write: (target: StoredLayer, context: WriteContext) => Promise<Result>,
): Promise<Result> {
  const target = storedLayer(layer, uid)
  try {
    return await write(target, { by: uid, at: new Date(), limits: LAYER_LIMITS[layer] })
  } finally {
    catalog.markWritten(target)
  }
}

export function storedLayer(layer: WritableLayer, uid: string): StoredLayer {
  return layer === 'global' ? { kind: 'global' } : { kind: 'user', uid }
}

/** True if the version has every value of `choice`, which is for example `{ digest }` or `{ revision }`. */
export function isChosen<Version extends object>(
  version: Version,
  choice: { readonly [Field in keyof Version]?: unknown },
): boolean {
  return Object.entries(choice).every(([field, value]) => version[field as keyof Version] === value)
}

async function admitNamed(
  view: CatalogView,
  layer: WritableLayer,
  sent: JsonValue,
  compiler: RequestCompiler,
): Promise<Admission> {
  const admission = await admitDefinition(sent, compiler)
  if (!('faults' in admission)) {
    const sealed = sealedFault(view, layer, admission.definition.function.name)
    return sealed ? { faults: [sealed] } : admission
  }
  const faults = admission.faults.flatMap((fault) =>
    fault.reason === 'NAME_INVALID' ? nameFaults(view, sentName(sent) ?? '', fault.pointer) : [fault],
  )
  return { faults }
}

export function putOf(
  { definition, text, digest }: AdmittedDefinition,
  onConflict: OnConflict = 'upsert',
  precondition: Precondition = {},
): DefinitionPut {
  return { kind: 'put', name: definition.function.name, text, digest, onConflict, precondition }
}

/** The body of a request, with the name from the address of the request. Throws NAME_MISMATCH if the body has another name. */
function withName(sent: JsonValue, name: string): JsonValue {
  const own = sentName(sent)
  if (own !== undefined && own !== name) throw new ToolrackError('NAME_MISMATCH')
  if (own !== undefined || !isJsonObject(sent)) return sent
  return isJsonObject(sent['function'])
    ? { ...sent, function: { name, ...sent['function'] } }
    : { name, ...sent }
}

function sentName(sent: JsonValue): string | undefined {
  const fn = isJsonObject(sent) ? reshape(sent).definition['function'] : undefined
  return isJsonObject(fn) && typeof fn['name'] === 'string' ? fn['name'] : undefined
}

function twiceFaults(
  { definition }: AdmittedDefinition,
  indexByName: Map<string, number>,
  index: number,
): DefinitionFault[] {
  const { name } = definition.function
  const first = indexByName.get(name) ?? index
  indexByName.set(name, first)
  if (first === index) return []
  const message = `the name is already that of item ${first} of this request`
  return [{ reason: 'DEFINITION_INVALID', pointer: '', message }]
}

/** The error of a definition with faults. It has the code of the first fault, and all faults as its details. */
function definitionError(faults: readonly DefinitionFault[]): ToolrackError {
  const first = must(faults[0])
  const place = first.pointer === '' ? 'The definition' : first.pointer
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more, see details)` : ''
  return new ToolrackError(first.reason, `${place}: ${first.message}${more}`, { details: faults })
}

function bulkError(refused: readonly ItemFault[], sent: number): ToolrackError {
  const items = new Set(refused.map(({ index }) => index)).size
  const isConflict = refused.every(({ reason }) => reason === 'NAME_SEALED')
  const message = `${items} of ${sent} definitions were refused, so nothing was written; correct them or send onInvalid=skip.`
  return new ToolrackError(isConflict ? 'NAME_SEALED' : 'DEFINITION_INVALID', message, { details: refused })
}

function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a store answered fewer outcomes than it was given changes')
  return value
}
