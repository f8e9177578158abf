import type { Digest } from '@toolrack/contract'
import type {
  DefinitionChange,
  DefinitionWriteResult,
  WriteContext,
} from '../../functions/src/catalog/definitions/definition-change.ts'
import { VERSIONS_KEPT } from '../../functions/src/catalog/definitions/definition-store.ts'
import type {
  DefinitionStore,
  DefinitionVersion,
} from '../../functions/src/catalog/definitions/definition-store.ts'
import type {
  LayerRead,
  LayerSource,
  StoredDefinition,
  StoredLayer,
} from '../../functions/src/catalog/views/layer-source.ts'
import { recordBytes } from '../../functions/src/catalog/definitions/layer-totals.ts'
import type { Room } from '../../functions/src/catalog/definitions/layer-totals.ts'
import { planConsent } from '../../functions/src/catalog/definitions/consent-write.ts'
import type { ConsentChange, ConsentResult } from '../../functions/src/catalog/definitions/consent-write.ts'
import { planWrite } from '../../functions/src/catalog/definitions/plan-write.ts'
import type { PackageLock } from '../../functions/src/catalog/definitions/package-lock.ts'
import type { ModuleContent } from '../../functions/src/catalog/definitions/module-content.ts'
import type {
  ModuleChange,
  ModuleWriteResult,
  ModulePage,
  ModuleSummary,
  ModuleVersion,
  StoredModule,
} from '../../functions/src/catalog/definitions/module-store.ts'
import {
  decidedChange,
  pendingIn,
  planModuleWrite,
} from '../../functions/src/catalog/definitions/plan-module-write.ts'
import { MemoryModules } from './memory-modules.ts'
import { memoryTotals, shrink } from './memory-room.ts'
import type { MemoryNames } from './memory-room.ts'

type Kept = {
  revision: number
  readonly definitions: Map<string, StoredDefinition>
  readonly deletedAt: Map<string, number>
  /** A reader whose last read was before this revision has missed deleted names. */
  floor: number
  readonly versions: Map<string, DefinitionVersion[]>
  readonly modules: MemoryModules
}

/** The data that several stores share, as they would share one database. */
export type MemoryDatabase = Map<string, Kept>

/** A whole store without a disk. Every method yields once, so that callers interleave as with a real store. */
export class MemoryDefinitionStore implements DefinitionStore {
  readonly #database: MemoryDatabase

  constructor(database: MemoryDatabase = new Map()) {
    this.#database = database
  }

  layer(layer: StoredLayer): LayerSource {
    return {
      read: async (since) => {
        await Promise.resolve()
        return readKept(this.#kept(layer), since)
      },
    }
  }

  async write(
    layer: StoredLayer,
    changes: readonly DefinitionChange[],
    context: WriteContext,
  ): Promise<readonly DefinitionWriteResult[]> {
    await Promise.resolve()
    const kept = this.#kept(layer)
    const planned = planWrite(changes, kept.definitions, roomOf(kept, context))
    const next = kept.revision + 1
    const outcomes = planned.map(({ change, outcome }) => apply(kept, change, outcome, next, context))
    if (outcomes.some(({ revision }) => revision === `m${next}`)) kept.revision = next
    shrink(() => kindsIn(kept), context.limits)
    return outcomes
  }

  async versions(layer: StoredLayer, name: string): Promise<readonly DefinitionVersion[]> {
    await Promise.resolve()
    return this.#kept(layer).versions.get(name) ?? []
  }

  async writeModule(
    layer: StoredLayer,
    asked: ModuleChange,
    context: WriteContext,
  ): Promise<ModuleWriteResult> {
    await Promise.resolve()
    const kept = this.#kept(layer)
    const found = kept.modules.module(asked.name)
    const present = found && { ...found, presentBytes: kept.modules.presentBytes(asked.name) }
    const before = { summary: found, revocation: kept.modules.revocation(asked.name) }
    const change = decidedChange(asked, before, kept.definitions)
    const plan = planModuleWrite(change, present, kept.definitions, roomOf(kept, context))
    const { outcome, definitions, tag } = plan
    const next = kept.revision + 1
    const tools = definitions.map((plan) => apply(kept, plan.change, plan.outcome, next, context))
    const sha256 = change.kind === 'put' ? change.sha256 : (present?.sha256 ?? '')
    const result = { name: change.name, outcome, sha256, tag, tools, ...pendingIn(change) }
    if (outcome === 'unchanged') return { ...result, revision: present?.revision ?? '' }
    kept.revision = next
    kept.modules.write(change, `m${next}`, context)
    shrink(() => kindsIn(kept), context.limits)
    return { ...result, replaced: present?.sha256, revision: `m${next}` }
  }

  async writeConsent(
    layer: StoredLayer,
    change: ConsentChange,
    context: WriteContext,
  ): Promise<ConsentResult> {
    await Promise.resolve()
    const kept = this.#kept(layer)
    const { result, puts } = planConsent(change, kept.modules.module(change.name), kept.definitions, context)
    if (result.outcome === 'unchanged') return result
    const next = kept.revision + 1
    for (const put of puts) apply(kept, put, 'updated', next, context)
    kept.revision = next
    kept.modules.setGrants(change.name, result)
    shrink(() => kindsIn(kept), context.limits)
    return result
  }

  async module(layer: StoredLayer, name: string): Promise<StoredModule | undefined> {
    await Promise.resolve()
    return this.#kept(layer).modules.module(name)
  }

  async modules(layer: StoredLayer, page: ModulePage): Promise<readonly ModuleSummary[]> {
    await Promise.resolve()
    return this.#kept(layer).modules.list(page)
  }

  async moduleVersions(layer: StoredLayer, name: string): Promise<readonly ModuleVersion[]> {
    await Promise.resolve()
    return this.#kept(layer).modules.versions(name)
  }

  async source(layer: StoredLayer, sha256: string): Promise<ModuleContent | undefined> {
    await Promise.resolve()
    return this.#kept(layer).modules.source(sha256)
  }

  async lock(layer: StoredLayer, sha256: string, environment: Digest): Promise<PackageLock | undefined> {
    await Promise.resolve()
    return this.#kept(layer).modules.lock(sha256, environment)
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  #kept(layer: StoredLayer): Kept {
    const key = layer.kind === 'global' ? 'global' : `user:${layer.uid}`
    const known = this.#database.get(key)
    if (known) return known
    const kept = {
      revision: 0,
      definitions: new Map(),
      deletedAt: new Map(),
      floor: 0,
      versions: new Map(),
      modules: new MemoryModules(),
    }
    this.#database.set(key, kept)
    return kept
  }
}

function roomOf(kept: Kept, { limits }: WriteContext): Room {
  return { size: kept.definitions.size, totals: memoryTotals(kindsIn(kept)), limits }
}

function kindsIn(kept: Kept): readonly MemoryNames[] {
  return [definitionsIn(kept), kept.modules.names()]
}

function definitionsIn(kept: Kept): MemoryNames {
  return {
    present: [...kept.definitions.values()].map(({ name, text }) => ({ name, bytes: recordBytes(text) })),
    versions: [...kept.versions].flatMap(([name, versions]) =>
      versions.map(({ revision, text = null }) => {
        return { name, revision: Number(revision.slice(1)), bytes: recordBytes(text) }
      }),
    ),
    forget({ name, revision }) {
      const left = (kept.versions.get(name) ?? []).filter((version) => version.revision !== `m${revision}`)
      if (left.length > 0) kept.versions.set(name, left)
      else kept.versions.delete(name)
      if (kept.deletedAt.get(name) !== revision) return
      kept.deletedAt.delete(name)
      kept.floor = Math.max(kept.floor, revision)
    },
  }
}

function readKept(kept: Kept, since: string | undefined): LayerRead {
  const revision = `m${kept.revision}`
  const known = /^m\d+$/.test(since ?? '') ? Number(since?.slice(1)) : undefined
  const whole = known === undefined || known > kept.revision || known < kept.floor
  const after = whole ? -1 : known
  const definitions = [...kept.definitions.values()].filter(
    (stored) => Number(stored.revision.slice(1)) > after,
  )
  const gone = [...kept.deletedAt].filter(([, at]) => at > after)
  const deletions = gone.map(([name, at]) => ({ name, revision: `m${at}` }))
  return {
    revision,
    whole,
    definitions,
    deleted: whole ? [] : gone.map(([name]) => name),
    deletions,
    forgotten: kept.floor > 0 ? `m${kept.floor}` : undefined,
    skipped: [],
  }
}

function apply(
  kept: Kept,
  change: DefinitionChange,
  outcome: DefinitionWriteResult['outcome'],
  next: number,
  { by, at }: WriteContext,
): DefinitionWriteResult {
  const { name } = change
  const before = kept.definitions.get(name)
  if (before && (outcome === 'unchanged' || outcome === 'skipped')) {
    return { name, outcome, digest: before.digest, revision: before.revision }
  }
  const revision = `m${next}`
  const when = at.toISOString()
  const content = change.kind === 'put' ? { text: change.text, digest: change.digest } : undefined
  const counted = change.kind === 'put' && change.tokens !== undefined && { tokens: change.tokens }
  const versions = [{ revision, ...content, at: when, by }, ...(kept.versions.get(name) ?? [])]
  kept.versions.set(name, versions.slice(0, VERSIONS_KEPT))
  if (content) {
    kept.definitions.set(name, { name, ...content, ...counted, revision, updatedAt: when, updatedBy: by })
    kept.deletedAt.delete(name)
    return { name, outcome, digest: content.digest, revision }
  }
  kept.definitions.delete(name)
  kept.deletedAt.set(name, next)
  if (!before) throw new Error('a deletion was planned for a name that is not there')
  return { name, outcome, digest: before.digest, revision }
}
