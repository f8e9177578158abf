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
import { lockText, type PackageLock } from './package-lock.ts'
import { contentOf, contentSha256, mapContent, type ModuleContent } from './module-content.ts'
import { isModuleName, type ModuleReader, type ModuleVersionChoice } from './module-reader.ts'
import type { ModuleChange, ModuleStore, ModuleWriteResult } from './module-store.ts'

/** How the packages of a module are found. */
type Packages = {
  /** True if the packages are resolved anew. Otherwise the lock of the same content is used again. */
  readonly relock?: boolean | undefined
  /** Called with a sentence about the work so far, at least once a second while packages are installed. */
  readonly onProgress?: ((text: string) => void) | undefined
}

/** An upload or a rollback. With `acceptGrants`, its sender accepts the grants with this digest, and may do so. */
type ModuleTarget = WriteTarget & Packages & { readonly acceptGrants?: Digest | undefined }

type Upload = ModuleTarget &
  ModuleContent<Uint8Array> & {
    /** The lock to use. By default, the one that the present version has, if its content is the same. */
    readonly lock?: PackageLock | undefined
  }
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

  /**
   * Writes a module and all of its definitions. If the runner refuses the module, rejects, and the old version stays. `tag` is
   * the entity tag of the module.
   */
  async put(principal: Principal, upload: Upload) {
    const { layer, name, precondition, signal, relock, acceptGrants, lock: given, ...sent } = upload
    const { onProgress = ignore, ...content } = sent
    const { runner, compilers, catalog, reader } = this.#parts
    const kept = given ?? (await reader.lockOf(principal, layer, name, contentSha256(content)))
    const compiler = compilers.forCaller({ user: principal.uid, signal })
    const locked = { lock: relock === true ? undefined : kept, onProgress }
    const check = { name, ...content, ...locked, tenant: principal.uid, signal }
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
    const replacesLock =
      kept !== undefined && kept.digest === lock?.digest && lockText(kept) !== lockText(lock)
    const changed = { name, sha256, lock, replacesLock, ...contentOf(module), report, tools }
    const change = { kind: 'put', ...changed, ...granted, precondition } as const
    const written = await this.#write(principal, layer, change)
    const isWaiting = written.pending === true
    if (isWaiting) this.#parts.waits?.({ layer, module: name, grants })
    const message = isWaiting && { message: waitsMessage({ layer, module: name, ...asked }) }
    const checked = { report, environment: lock?.digest }
    const answer = {
      ...moduleAnswer(written, layer, view, checked),
      ...asked,
      pending: isWaiting,
      ...message,
    }
    return { tag: written.tag ?? sha256, answer }
  }

  /** Writes older content again, as a new version, with the packages that the older version has. */
  async rollback(principal: Principal, { choice, ...target }: Rollback) {
    const { layer, name } = target
    const { content, lock } = await this.#parts.reader.contentOf(principal, layer, name, choice)
    return this.put(principal, { ...target, lock, ...mapContent(content, (text) => Buffer.from(text)) })
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

/** The runner reports the progress in any case, because only then a check may take longer than other checks. */
function ignore(): void {
  // Nobody waits for the progress.
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

/** The answer to a write of one module. `report` has the result for each spec. A deletion has neither a report nor packages. */
function moduleAnswer(
  { name, outcome, sha256, revision, tools }: ModuleWriteResult,
  layer: WritableLayer,
  view: CatalogView,
  { report, environment }: { readonly report?: JsonObject; readonly environment?: Digest | undefined } = {},
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
    ...(environment && { environment }),
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
