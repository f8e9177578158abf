import type { JsonObject, JsonValue, Layer } from '@toolrack/contract'
import { isJsonObject, isToolName, ToolrackError } from '@toolrack/contract'
import type { Principal } from '../../access/principal.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { CatalogView } from '../catalog/catalog-view.ts'
import type { RequestCompiler, SchemaChecker } from '../schemas/schema-checker.ts'
import { admitDefinition } from './admit-definition.ts'
import type { AdmittedDefinition } from './admit-definition.ts'
import { continueChecks } from './check-budget.ts'
import type { DefinitionPut, OnConflict } from './definition-change.ts'
import type { Precondition } from './precondition.ts'
import type { DefinitionFault } from './definition-fault.ts'
import type { DefinitionStore, DefinitionVersion } from './definition-store.ts'
import type { StoredLayer } from '../catalog/stored-layer.ts'
import { LongWork } from '../../loop-turn.ts'
import { keptVersions } from './kept-versions.ts'
import { LAYER_LIMITS } from '../records/layer-totals.ts'
import { nameFaults, sealedFault } from './name-faults.ts'
import type { BulkAnswer, RefusedItem, WriteAnswer } from './write-answer.ts'
import type { DefinitionWriteResult } from './write-result.ts'

/** How many definitions one request may bring. */
export const BULK_MAX = 200

export type WritableLayer = 'user' | 'global'
export type VersionChoice = { readonly digest: string } | { readonly revision: string }

/** Every change of a definition goes through here: admit, check the name, write, tell. Whoever calls has decided that the principal may. */
export class DefinitionWriter {
  readonly #store: DefinitionStore
  readonly #catalog: Catalog
  readonly #checker: SchemaChecker

  constructor(parts: { store: DefinitionStore; catalog: Catalog; checker: SchemaChecker }) {
    this.#store = parts.store
    this.#catalog = parts.catalog
    this.#checker = parts.checker
  }

  /** Writes one definition under the name of the path; the body may repeat it or leave it out. `signal` is aborted when the caller has gone. */
  async put(
    principal: Principal,
    layer: WritableLayer,
    name: string,
    sent: JsonValue,
    precondition: Precondition,
    signal?: AbortSignal,
  ): Promise<WriteAnswer> {
    const view = await this.#catalog.view(principal)
    throwFirst(nameFaults(view, name, '/name'))
    const admission = await this.#admit(view, layer, named(sent, name), this.#compiler(principal, signal))
    if ('faults' in admission) throw refusal(admission.faults)
    const put = putOf(admission, 'upsert', precondition)
    const [outcome] = await this.#write(principal, layer, [put])
    return answer(view, layer, admission, outcome)
  }

  /**
   * Writes up to 200 definitions, all or none; `onInvalid: 'skip'` takes those that are valid. Rejects as a whole when
   * checking them takes too long, and when the caller has gone before all are checked.
   */
  async putAll(
    principal: Principal,
    layer: WritableLayer,
    sent: readonly JsonValue[],
    options: { onConflict: OnConflict; onInvalid: 'fail' | 'skip'; signal?: AbortSignal },
  ): Promise<BulkAnswer> {
    const view = await this.#catalog.view(principal)
    const refused: RefusedItem[] = []
    const admitted: AdmittedDefinition[] = []
    const indexByName = new Map<string, number>()
    const compiler = this.#compiler(principal, options.signal)
    const admitting = new LongWork()
    for (const [index, item] of sent.entries()) {
      continueChecks(compiler, index, sent.length)
      // Those that are refused before they are compiled wait for nothing.
      if (admitting.isLong) await admitting.giveTurn()
      const admission = await this.#admit(view, layer, item, compiler)
      const faults = 'faults' in admission ? admission.faults : twiceFaults(admission, indexByName, index)
      refused.push(...faults.map((fault) => ({ index, ...fault })))
      if (!('faults' in admission) && faults.length === 0) admitted.push(admission)
    }
    if (refused.length > 0 && options.onInvalid === 'fail') throw bulkRefusal(refused, sent.length)
    const puts = admitted.map((admission) => putOf(admission, options.onConflict))
    const outcomes = puts.length > 0 ? await this.#write(principal, layer, puts) : []
    const results = admitted.map((admission, index) => answer(view, layer, admission, outcomes[index]))
    return options.onInvalid === 'skip' ? { results, refused } : { results }
  }

  async delete(
    principal: Principal,
    layer: WritableLayer,
    name: string,
    precondition: Precondition,
  ): Promise<DefinitionWriteResult> {
    if (!isToolName(name)) throw new ToolrackError('TOOL_NOT_FOUND')
    const [outcome] = await this.#write(principal, layer, [{ kind: 'delete', name, precondition }])
    return must(outcome)
  }

  /** Puts an older content back, as a new version. */
  async rollback(
    principal: Principal,
    layer: WritableLayer,
    name: string,
    choice: VersionChoice,
    precondition: Precondition,
    signal?: AbortSignal,
  ): Promise<WriteAnswer> {
    const versions = await keptVersions(this.#store, storedLayer(layer, principal.uid), name)
    const version = versions.find((candidate) => isChosen(candidate, choice))
    if (!version?.text) throw new ToolrackError('VERSION_NOT_FOUND')
    return this.put(principal, layer, name, JSON.parse(version.text) as JsonValue, precondition, signal)
  }

  #compiler({ uid }: Principal, signal: AbortSignal | undefined): RequestCompiler {
    return this.#checker.forCaller({ user: uid, signal })
  }

  async #admit(
    view: CatalogView,
    layer: WritableLayer,
    sent: JsonValue,
    compiler: RequestCompiler,
  ): Promise<AdmittedDefinition | { faults: readonly DefinitionFault[] }> {
    const admission = await admitDefinition(sent, compiler)
    if ('faults' in admission) {
      const resembled = admission.faults.flatMap((fault) =>
        fault.reason === 'NAME_INVALID' ? nameFaults(view, sentName(sent) ?? '', fault.pointer) : [fault],
      )
      return { faults: resembled }
    }
    const sealed = sealedFault(view, layer, admission.definition.function.name)
    return sealed ? { faults: [sealed] } : admission
  }

  async #write(
    principal: Principal,
    layer: WritableLayer,
    changes: Parameters<DefinitionStore['write']>[1],
  ): Promise<readonly DefinitionWriteResult[]> {
    const target = storedLayer(layer, principal.uid)
    const context = { by: principal.uid, at: new Date(), limits: LAYER_LIMITS[layer] }
    try {
      return await this.#store.write(target, changes, context)
    } finally {
      this.#catalog.markWritten(target)
    }
  }
}

export function storedLayer(layer: WritableLayer, uid: string): StoredLayer {
  return layer === 'global' ? { kind: 'global' } : { kind: 'user', uid }
}

function putOf(
  { definition, text, digest }: AdmittedDefinition,
  onConflict: OnConflict,
  precondition: Precondition = {},
): DefinitionPut {
  return { kind: 'put', name: definition.function.name, text, digest, onConflict, precondition }
}

function answer(
  view: CatalogView,
  layer: Layer,
  admitted: AdmittedDefinition,
  outcome: DefinitionWriteResult | undefined,
): WriteAnswer {
  const { name, ...written } = must(outcome)
  const { normalised, unenforced } = admitted
  const below = layer === 'user' ? (['global', 'file'] as const) : (['file'] as const)
  const shadows = below.flatMap((lower) => {
    const entry = view.layers[lower].snapshot?.byName.get(name)
    return entry ? [{ layer: lower, digest: entry.digest }] : []
  })
  return { name, layer, ...written, normalised, unenforced, shadows }
}

/** The body with the path's name in it, or a NAME_MISMATCH. */
function named(sent: JsonValue, name: string): JsonValue {
  const own = sentName(sent)
  if (own !== undefined && own !== name) throw new ToolrackError('NAME_MISMATCH')
  if (own !== undefined || !isJsonObject(sent)) return sent
  return isJsonObject(sent['function'])
    ? { ...sent, function: { name, ...sent['function'] } }
    : { name, ...sent }
}

function sentName(sent: JsonValue): string | undefined {
  if (!isJsonObject(sent)) return undefined
  const holder: JsonObject = isJsonObject(sent['function']) ? sent['function'] : sent
  return typeof holder['name'] === 'string' ? holder['name'] : undefined
}

function twiceFaults(
  admitted: AdmittedDefinition,
  indexByName: Map<string, number>,
  index: number,
): DefinitionFault[] {
  const { name } = admitted.definition.function
  const first = indexByName.get(name)
  if (first === undefined) indexByName.set(name, index)
  if (first === undefined) return []
  return [
    {
      reason: 'DEFINITION_INVALID',
      pointer: '',
      message: `the name is already that of item ${first} of this request`,
    },
  ]
}

function isChosen(version: DefinitionVersion, choice: VersionChoice): boolean {
  return 'digest' in choice ? version.digest === choice.digest : version.revision === choice.revision
}

function throwFirst(faults: readonly DefinitionFault[]): void {
  if (faults.length > 0) throw refusal(faults)
}

/** One definition's refusal: the first fault's code decides, all faults are told. */
function refusal(faults: readonly DefinitionFault[]): ToolrackError {
  const first = must(faults[0])
  const place = first.pointer === '' ? 'The definition' : first.pointer
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more, see details)` : ''
  return new ToolrackError(first.reason, `${place}: ${first.message}${more}`, { details: faults })
}

function bulkRefusal(refused: readonly RefusedItem[], sent: number): ToolrackError {
  const items = new Set(refused.map(({ index }) => index)).size
  const isConflict = refused.every(({ reason }) => reason === 'NAME_SEALED')
  const message = `${items} of ${sent} definitions were refused, so nothing was written; correct them or send onInvalid=skip.`
  return new ToolrackError(isConflict ? 'NAME_SEALED' : 'DEFINITION_INVALID', message, { details: refused })
}

function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a store answered fewer outcomes than it was given changes')
  return value
}
