import { ToolrackError } from '@toolrack/contract'
import type { StoredDefinition } from '../catalog/layer-source.ts'
import { holds, type DefinitionDelete } from '../definitions/definition-change.ts'
import { managingModule, planWrite, type PlannedChange } from '../definitions/plan-write.ts'
import { moduleBytes, type ContentBytes, type Room } from '../records/layer-totals.ts'
import type { ModuleChange, ModuleWriteResult, ModuleSummary } from './module-store.ts'

export type ModulePlan = {
  readonly outcome: ModuleWriteResult['outcome']
  readonly definitions: readonly PlannedChange[]
}

/** A module as the transaction has found it. */
export type PresentModule = Pick<ModuleSummary, 'sha256' | 'tools'> & { readonly presentBytes: number }

/** The names of the definitions that the module will have, and of those that it had. */
export function definitionsOf(
  change: ModuleChange,
  present: Pick<ModuleSummary, 'tools'> | undefined,
): readonly string[] {
  const wanted = change.kind === 'put' ? change.tools.map(({ name }) => name) : []
  return [...new Set([...wanted, ...(present?.tools ?? [])])]
}

/**
 * Decides what a write of a module does, from what its transaction has read: the module, and `current` of what
 * `definitionsOf` names. Throws MODULE_NOT_FOUND, PRECONDITION_FAILED, NAME_TAKEN, or
 * what `refuseOverflow` throws.
 */
export function planModuleWrite(
  change: ModuleChange,
  present: PresentModule | undefined,
  current: ReadonlyMap<string, StoredDefinition>,
  room: Room,
): ModulePlan {
  if (change.kind === 'delete' && !present) throw new ToolrackError('MODULE_NOT_FOUND')
  if (!holds(change.precondition ?? {}, present?.sha256))
    throw new ToolrackError('PRECONDITION_FAILED', 'The module is not in the state the request asks for.')
  const puts = change.kind === 'put' ? change.tools : []
  const kept = new Set(puts.map(({ name }) => name))
  const gone = (present?.tools ?? []).filter(
    (name) => !kept.has(name) && isOwn(current.get(name), change.name),
  )
  const deletes = gone.map((name): DefinitionDelete => ({ kind: 'delete', name }))
  const { own, version } = bytesAfter(change) ?? { own: 0, version: 0 }
  const definitions = planWrite([...puts, ...deletes], current, room, {
    name: change.name,
    presentGrowth: own + version - (present?.presentBytes ?? 0),
  })
  return { outcome: outcomeOf(change, present, definitions), definitions }
}

/** What the module holds when the change is done; undefined for a deletion. */
export function bytesAfter(change: ModuleChange): ContentBytes | undefined {
  if (change.kind === 'delete') return undefined
  const { source, report, tools } = change
  return moduleBytes({ source, report: JSON.stringify(report), tools: tools.map(({ name }) => name) })
}

/** True if the name still holds a definition of the module. Anything else is not the module's to delete. */
function isOwn(definition: StoredDefinition | undefined, module: string): boolean {
  return definition !== undefined && managingModule(definition) === module
}

function outcomeOf(
  change: ModuleChange,
  present: PresentModule | undefined,
  definitions: readonly PlannedChange[],
): ModuleWriteResult['outcome'] {
  if (change.kind === 'delete') return 'deleted'
  if (!present) return 'created'
  const isSame =
    present.sha256 === change.sha256 && definitions.every(({ outcome }) => outcome === 'unchanged')
  return isSame ? 'unchanged' : 'updated'
}
