import { grantsDigest, ToolrackError, type Digest, type Grant, type JsonObject } from '@toolrack/contract'
import type { Principal } from '../../access/principal.ts'
import { Turns } from '../../loop-turn.ts'
import type { Catalog } from '../views/catalog.ts'
import type { CatalogView } from '../views/catalog-view.ts'
import type { AdmittedDefinition } from './admit-definition.ts'
import { putOf, writeLayer, type WritableLayer, type WriteTarget } from './definition-writer.ts'
import { withTokens } from './count-puts.ts'
import { sealedFault } from './definition-fault.ts'
import type { DefinitionWriteResult } from './definition-change.ts'
import type { Precondition } from '../../precondition.ts'
import { shadowsOf } from './write-answer.ts'
import type { Runner } from './runner.ts'
import type { SchemaCompilers } from '../schemas/schema-compilers.ts'
import { waitsMessage } from '../views/why-pending.ts'
import { admitModule } from './admit-module.ts'
import { decideConsent, type GrantPolicy, type PresentGrants } from './decide-consent.ts'
import { contentOf, mapContent, type ModuleContent } from './module-content.ts'
import { isModuleName, type ModuleReader, type ModuleVersionChoice } from './module-reader.ts'
import type { ModuleChange, ModuleStore, ModuleWriteResult } from './module-store.ts'

/** An upload or a rollback. With `acceptGrants`, its sender accepts the grants with this digest, and may do so. */
type ModuleTarget = WriteTarget & { readonly acceptGrants?: Digest | undefined }
type Upload = ModuleTarget & ModuleContent<Uint8Array>
type Rollback = ModuleTarget & { readonly choice: ModuleVersionChoice }

/** A module that was written, and whose tools wait until somebody accepts its grants. */
export type WaitingModule = {
  readonly layer: WritableLayer
  readonly module: string
  readonly grants: readonly Grant[]
}

type Parts = {
  readonly store: ModuleStore
  readonly reader: ModuleReader
  readonly catalog: Catalog
  readonly compilers: SchemaCompilers
  readonly runner: Runner
  /** How the operator answers the grants of modules in advance. Default: `ask`. */
  readonly grantPolicy?: GrantPolicy
  /** Called after a write of a module whose tools wait for consent. */
  readonly waits?: (module: WaitingModule) => void
}

/** Makes all changes of modules. The caller must have checked the access. */
export class ModuleWriter {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Writes a module and all of its definitions. If the runner refuses the module, rejects, and the old version stays. */
  async put(principal: Principal, upload: Upload) {
    const { layer, name, precondition, signal, acceptGrants, ...content } = upload
    const { runner, compilers, catalog } = this.#parts
    const compiler = compilers.forCaller({ user: principal.uid, signal })
    const check = { name, ...content, tenant: principal.uid, signal }
    const module = await admitModule(check, { runner, compiler, goOn: compiler.goOn })
    const view = await catalog.view(principal)
    refuseSealed(view, layer, module.tools)
    const { sha256, report } = module
    const puts = module.tools.map((tool) => putOf(tool))
    const tools = await withTokens(puts, new Turns(signal))
    const { lock, grants } = module
    const asked = { grants, grantsDigest: grantsDigest(grants) }
    const by = { accepts: acceptGrants, by: principal.uid, at: new Date() }
    const decide = (present: PresentGrants | undefined) =>
      decideConsent({ ...asked, ...by }, present, this.#parts.grantPolicy ?? 'ask')
    const granted = { ...asked, consent: null, decide }
    const changed = { name, sha256, lock, ...contentOf(module), report, tools }
    const change = { kind: 'put', ...changed, ...granted, precondition } as const
    const written = await this.#write(principal, layer, change)
    const isWaiting = written.pending === true
    if (isWaiting) this.#parts.waits?.({ layer, module: name, grants })
    const message = isWaiting && { message: waitsMessage({ layer, module: name, ...asked }) }
    return { ...moduleAnswer(written, layer, view, report), ...asked, pending: isWaiting, ...message }
  }

  /** Writes older content again, as a new version. */
  async rollback(principal: Principal, { choice, ...target }: Rollback) {
    const { layer, name } = target
    const content = await this.#parts.reader.contentOf(principal, layer, name, choice)
    return this.put(principal, { ...target, ...mapContent(content, (text) => Buffer.from(text)) })
  }

  async delete(principal: Principal, layer: WritableLayer, name: string, precondition: Precondition) {
    if (!isModuleName(name)) throw new ToolrackError('MODULE_NOT_FOUND')
    const outcome = await this.#write(principal, layer, { kind: 'delete', name, precondition })
    return moduleAnswer(outcome, layer, await this.#parts.catalog.view(principal))
  }

  #write(principal: Principal, layer: WritableLayer, change: ModuleChange) {
    const { store, catalog, runner } = this.#parts
    return writeLayer(catalog, principal, layer, async (target, context) => {
      const result = await store.writeModule(target, change, context)
      const sha256 = unusedAfter(result)
      // Modules of a user layer run only in processes of that user. Processes that `forget` does not reach end later.
      const tenant = target.kind === 'user' ? target.uid : undefined
      if (sha256 !== undefined) void runner.forget({ tenant, module: change.name, sha256 })
      return result
    })
  }
}

/**
 * The digest of the content that no call uses any more, because the write has replaced or deleted it. Undefined if there is none.
 */
function unusedAfter({ outcome, sha256, replaced }: ModuleWriteResult): string | undefined {
  if (outcome === 'deleted') return sha256
  return replaced === sha256 ? undefined : replaced
}

function refuseSealed(view: CatalogView, layer: WritableLayer, tools: readonly AdmittedDefinition[]): void {
  const details = tools.flatMap(({ definition }) => {
    const { name } = definition.function
    const fault = sealedFault(view, layer, name)
    return fault ? [{ reason: fault.reason, name, layer: fault.layer, message: fault.message }] : []
  })
  const [first] = details
  if (!first) return
  const message = `${first.name}: ${first.message}. Nothing was written.`
  throw new ToolrackError(first.reason, message, { details })
}

/** The answer to a write of one module. `report` has the result for each spec. A deletion has no report. */
function moduleAnswer(
  { name, outcome, sha256, revision, tools }: ModuleWriteResult,
  layer: WritableLayer,
  view: CatalogView,
  report?: JsonObject,
) {
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
