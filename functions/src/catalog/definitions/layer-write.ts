import type { StoredDefinition } from '../views/layer-source.ts'
import type { Consent } from './decide-consent.ts'
import type { DefinitionChange, DefinitionWriteResult, WriteContext } from './definition-change.ts'
import { planWrite, written, type PlannedChange } from './plan-write.ts'
import { contentOf } from './module-content.ts'
import type { ModuleChange, ModuleWriteResult, ModuleSummary } from './module-store.ts'
import { bytesAfter, decidedChange, definitionsOf, pendingIn, planModuleWrite } from './plan-module-write.ts'
import { lockText } from './package-lock.ts'
import { grantsText, revocationText } from './stored-records.ts'
import { LayerChanges, totalsOf, type KeptName } from './layer-changes.ts'
import { revisionText, type LayerState } from './layer-state.ts'
import { RECORD_BYTES, recordBytes, type StoreRoom } from './layer-totals.ts'

/** What a transaction has read about the name of one definition. */
export type FoundDefinition = {
  readonly kept?: KeptName | undefined
  /** The present content: the definition that this service or another program has written under the name. */
  readonly stored?: StoredDefinition | undefined
  /** True if another program has written the document. Before a write replaces the document, its content becomes a version. */
  readonly isForeign?: boolean
}

/** What a transaction has read about one module. A deleted module has no summary, and may have a revocation. */
export type FoundModule = {
  readonly kept: KeptName
  readonly summary: ModuleSummary | undefined
  /** The revocation that was the last decision about a deleted module. */
  readonly revocation?: Consent | undefined
}

export type FoundInLayer = {
  readonly state: LayerState
  readonly store?: StoreRoom
  readonly module: FoundModule | undefined
  readonly definitions: ReadonlyMap<string, FoundDefinition>
}

/**
 * How one write is done. A transaction reads the module and the definitions, calls `plan`, makes room, and writes the changes.
 */
export type LayerWrite<Result> = {
  /** The name of the module to read. */
  readonly module?: string
  /** The names of the definitions to read. */
  readonly definitions: (module: FoundModule | undefined) => readonly string[]
  /** Throws the errors of `planWrite` or `planModuleWrite`. If `changes` is undefined, nothing is written. */
  readonly plan: (found: FoundInLayer) => { result: Result; changes: LayerChanges | undefined }
}

export function definitionsWrite(
  changes: readonly DefinitionChange[],
  context: WriteContext,
): LayerWrite<readonly DefinitionWriteResult[]> {
  return {
    definitions: () => changes.map(({ name }) => name),
    plan: (found) => {
      const planned = planWrite(changes, currentIn(found), roomIn(found, context))
      const changed = changesOf(planned, found, context)
      const result = writeDefinitions(planned, found, changed, context)
      return { result, changes: written(planned).length > 0 ? changed : undefined }
    },
  }
}

export function moduleWrite(asked: ModuleChange, context: WriteContext): LayerWrite<ModuleWriteResult> {
  const { name } = asked
  return {
    module: name,
    definitions: (module) => definitionsOf(asked, module?.summary),
    plan: (found) => {
      const { kept, summary, revocation } = found.module ?? {}
      const present = kept && summary && { ...summary, presentBytes: totalsOf(kept).presentBytes }
      const current = currentIn(found)
      const change = decidedChange(asked, { summary, revocation }, current)
      const plan = planModuleWrite(change, present, current, roomIn(found, context))
      const changes = changesOf(plan.definitions, found, context)
      const tools = writeDefinitions(plan.definitions, found, changes, context)
      const sha256 = change.kind === 'put' ? change.sha256 : (summary?.sha256 ?? '')
      const { outcome, tag } = plan
      const result = { name, outcome, sha256, tag, tools, ...pendingIn(change) }
      if (outcome === 'unchanged')
        return { result: { ...result, revision: summary?.revision ?? '' }, changes: undefined }
      writeModule(change, found.module, changes, context)
      const revision = revisionText(changes.state.revision, found.state.epoch)
      return { result: { ...result, replaced: summary?.sha256, revision }, changes }
    },
  }
}

/** The present definitions, without the names that have none. */
export function currentIn({ definitions }: FoundInLayer): ReadonlyMap<string, StoredDefinition> {
  return new Map([...definitions].flatMap(([name, { stored }]) => (stored ? [[name, stored] as const] : [])))
}

function roomIn({ state, store }: FoundInLayer, { limits }: WriteContext) {
  return { size: state.size, totals: state.totals, limits, store }
}

/**
 * The changes of a write, with their revision. If a change replaces content of another program, this content first becomes a
 * version. This version gets the next revision, and the changes get the revision after it.
 */
export function changesOf(planned: readonly PlannedChange[], found: FoundInLayer, { limits }: WriteContext) {
  const isForeign = written(planned).some(({ change }) => found.definitions.get(change.name)?.isForeign)
  return new LayerChanges(found.state, limits, found.state.revision + (isForeign ? 2 : 1))
}

export function writeDefinitions(
  planned: readonly PlannedChange[],
  found: FoundInLayer,
  changes: LayerChanges,
  { by, at }: WriteContext,
): readonly DefinitionWriteResult[] {
  const { revision } = changes.state
  return planned.map(({ change, outcome }) => {
    const { name } = change
    const { kept, stored, isForeign } = found.definitions.get(name) ?? {}
    if (stored && (outcome === 'unchanged' || outcome === 'skipped'))
      return { name, outcome, digest: stored.digest, revision: stored.revision }
    const digest = change.kind === 'put' ? change.digest : stored?.digest
    if (!digest) throw new TypeError('a deletion was planned for a name that is not there')
    const text = change.kind === 'put' ? change.text : null
    const bytes = recordBytes(text)
    const foreign = isForeign && stored ? [{ revision: revision - 1, bytes: recordBytes(stored.text) }] : []
    const versions = [...(kept?.versions ?? foreign), { revision, bytes }]
    const tokens = change.kind === 'put' ? change.tokens : undefined
    const updated = { updatedAt: at.toISOString(), updatedBy: by }
    const record = { name, text, digest, revision, ...updated, ...(tokens !== undefined && { tokens }) }
    const written = { kind: 'definition', name, isDeleted: text === null, ownBytes: bytes, versions } as const
    changes.write(kept, { ...written, isPartial: kept?.isPartial }, { kind: 'definition', record })
    return { name, outcome, digest, revision: revisionText(revision, found.state.epoch) }
  })
}

function writeModule(
  change: ModuleChange,
  { kept, summary }: Partial<FoundModule> = {},
  changes: LayerChanges,
  { by, at }: WriteContext,
): void {
  const { name } = change
  const { revision } = changes.state
  const isDeleted = change.kind === 'delete'
  const deletion = { sha256: null, tools: [], report: {}, lock: undefined }
  const { sha256, tools, report, lock } = isDeleted ? deletion : change
  const module = isDeleted ? undefined : contentOf(change)
  const environment = lock?.digest ?? null
  const granted = isDeleted ? revocationText(summary?.consent) : grantsText(change)
  const bytes = bytesAfter(change) ?? { own: recordBytes(granted), version: RECORD_BYTES }
  const versions = [...(kept?.versions ?? []), { revision, sha256, environment, bytes: bytes.version }]
  const updated = { updatedAt: at.toISOString(), updatedBy: by }
  const named = { name, sha256, environment, tools: tools.map((tool) => tool.name) }
  const record = { ...named, granted, revision, ...updated }
  changes.write(
    kept,
    { kind: 'module', name, isDeleted: isDeleted && granted === null, ownBytes: bytes.own, versions },
    { kind: 'module', record, report: JSON.stringify(report), module, lock: lock && lockText(lock) },
  )
}
