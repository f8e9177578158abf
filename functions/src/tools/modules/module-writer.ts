import { ToolrackError, type JsonObject, type Layer } from '@toolrack/contract'
import type { Principal } from '../../access/principal.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { CatalogView } from '../catalog/catalog-view.ts'
import type { AdmittedDefinition } from '../definitions/admit-definition.ts'
import { putOf, writeLayer, type WritableLayer } from '../definitions/definition-writer.ts'
import { sealedFault } from '../definitions/definition-fault.ts'
import type { DefinitionWriteResult, Precondition } from '../definitions/definition-change.ts'
import { shadowsOf, type Shadow } from '../definitions/write-answer.ts'
import type { Runner } from './runner.ts'
import type { SchemaCompilers } from '../schemas/schema-compilers.ts'
import { admitModule } from './admit-module.ts'
import { isModuleName, type ModuleReader, type ModuleVersionChoice } from './module-reader.ts'
import type { ModuleChange, ModuleStore, ModuleWriteResult } from './module-store.ts'

/** An uploaded file, and the layer that it is for. */
export type Upload = {
  readonly layer: WritableLayer
  readonly name: string
  readonly source: Uint8Array
  readonly precondition: Precondition
  /** Aborted when the caller has gone. */
  readonly signal?: AbortSignal | undefined
}

/** The version that is put back. */
export type Rollback = Omit<Upload, 'source'> & { readonly choice: ModuleVersionChoice }

/** The answer to a write of one module. */
export type ModuleAnswer = Omit<ModuleWriteResult, 'tools' | 'replaced'> & {
  readonly layer: Layer
  readonly tools: {
    readonly added: readonly string[]
    readonly changed: readonly string[]
    readonly removed: readonly string[]
    readonly unchanged: readonly string[]
  }
  /** The definitions of lower layers that the module's definitions now hide. */
  readonly shadows: readonly (Shadow & { readonly name: string })[]
  /** The result for each spec; missing if the module was deleted. */
  readonly report?: JsonObject
}

type Parts = {
  readonly store: ModuleStore
  readonly reader: ModuleReader
  readonly catalog: Catalog
  readonly compilers: SchemaCompilers
  readonly runner: Runner
}

/** Makes every change of modules: checks and admits them, looks for seals, writes, and tells the catalog. The caller has checked the access. */
export class ModuleWriter {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Writes a module and all of its definitions. Rejects if the runner refuses it; then the old version stays. */
  async put(
    principal: Principal,
    { layer, name, source, precondition, signal }: Upload,
  ): Promise<ModuleAnswer> {
    const { runner } = this.#parts
    const compiler = this.#parts.compilers.forCaller({ user: principal.uid, signal })
    const { tools, report, ...module } = await admitModule(
      { name, source, tenant: principal.uid },
      { runner, compiler, goOn: compiler.goOn },
    )
    const view = await this.#parts.catalog.view(principal)
    refuseSealed(view, layer, tools)
    const puts = tools.map((tool) => putOf(tool))
    const { sha256, source: text } = module
    const change = { kind: 'put', name, sha256, source: text, report, tools: puts, precondition } as const
    return moduleAnswer(await this.#write(principal, layer, change), layer, view, report)
  }

  /** Puts an older source back, as a new version. */
  async rollback(principal: Principal, { choice, ...target }: Rollback): Promise<ModuleAnswer> {
    const { layer, name } = target
    const source = await this.#parts.reader.sourceOf(principal, layer, name, choice)
    return this.put(principal, { ...target, source: Buffer.from(source) })
  }

  async delete(
    principal: Principal,
    layer: WritableLayer,
    name: string,
    precondition: Precondition,
  ): Promise<ModuleAnswer> {
    if (!isModuleName(name)) throw new ToolrackError('MODULE_NOT_FOUND')
    const outcome = await this.#write(principal, layer, { kind: 'delete', name, precondition })
    return moduleAnswer(outcome, layer, await this.#parts.catalog.view(principal))
  }

  async #write(principal: Principal, layer: WritableLayer, change: ModuleChange): Promise<ModuleWriteResult> {
    const { store, catalog, runner } = this.#parts
    return writeLayer(catalog, principal, layer, async (target, context) => {
      const result = await store.writeModule(target, change, context)
      const sha256 = goneWith(result)
      // Only a user's own processes run a user's module. Nobody waits for this: processes that are not reached end by themselves.
      const tenant = target.kind === 'user' ? target.uid : undefined
      if (sha256 !== undefined) void runner.forget({ tenant, module: change.name, sha256 })
      return result
    })
  }
}

/** The digest of the source that no call uses any more. */
function goneWith({ outcome, sha256, replaced }: ModuleWriteResult): string | undefined {
  if (outcome === 'deleted') return sha256
  return replaced === sha256 ? undefined : replaced
}

function refuseSealed(view: CatalogView, layer: WritableLayer, tools: readonly AdmittedDefinition[]): void {
  const sealed = tools.flatMap(({ definition }) => {
    const { name } = definition.function
    const fault = sealedFault(view, layer, name)
    return fault ? [{ reason: fault.reason, name, layer: fault.layer, message: fault.message }] : []
  })
  const [first] = sealed
  if (first)
    throw new ToolrackError(first.reason, `${first.name}: ${first.message}. Nothing was written.`, {
      details: sealed,
    })
}

function moduleAnswer(
  { name, outcome, sha256, revision, tools }: ModuleWriteResult,
  layer: WritableLayer,
  view: CatalogView,
  report?: JsonObject,
): ModuleAnswer {
  const named = (wanted: DefinitionWriteResult['outcome']): readonly string[] =>
    tools.filter((tool) => tool.outcome === wanted).map((tool) => tool.name)
  const present = tools.filter((tool) => tool.outcome !== 'deleted')
  const shadows = present.flatMap(({ name }) =>
    shadowsOf(view, layer, name).map((shadow) => ({ name, ...shadow })),
  )
  return {
    name,
    outcome,
    sha256,
    revision,
    layer,
    tools: {
      added: named('created'),
      changed: named('updated'),
      removed: named('deleted'),
      unchanged: named('unchanged'),
    },
    shadows,
    ...(report && { report }),
  }
}
