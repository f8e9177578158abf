import { ToolrackError } from '@toolrack/contract'
import type { StoredDefinition } from '../views/layer-source.ts'
import { type DefinitionDelete } from './definition-change.ts'
import { holds } from '../../precondition.ts'
import { managingModule, planWrite, type PlannedChange } from './plan-write.ts'
import { moduleBytes, type ContentBytes, type Room } from './layer-totals.ts'
import { keptText } from './module-content.ts'
import type { ModuleChange, ModuleWriteResult, ModuleSummary } from './module-store.ts'

/** A module that the transaction has read. */
type PresentModule = Pick<ModuleSummary, 'sha256' | 'tools'> & { readonly presentBytes: number }

/** The names of all definitions that the module has before the write, after it, or both. */
export function definitionsOf(change: ModuleChange, present: ModuleSummary | undefined): readonly string[] {
  const wanted = change.kind === 'put' ? change.tools.map(({ name }) => name) : []
  return [...new Set([...wanted, ...(present?.tools ?? [])])]
}

/**
 * Decides the outcome of a write of a module. `present` is the module before the write, and `current` has the present definitions that
 * `definitionsOf` names. The transaction has read both. Throws MODULE_NOT_FOUND, PRECONDITION_FAILED, or the errors of `planWrite`.
 */
export function planModuleWrite(
  change: ModuleChange,
  present: PresentModule | undefined,
  current: ReadonlyMap<string, StoredDefinition>,
  room: Room,
) {
  if (change.kind === 'delete' && !present) throw new ToolrackError('MODULE_NOT_FOUND')
  if (!holds(change.precondition ?? {}, present?.sha256))
    throw new ToolrackError('PRECONDITION_FAILED', 'The module is not in the state the request asks for.')
  const puts = change.kind === 'put' ? change.tools : []
  const kept = new Set(puts.map(({ name }) => name))
  const deletes = (present?.tools ?? [])
    .filter((name) => !kept.has(name) && isOwn(current.get(name), change.name))
    .map((name): DefinitionDelete => ({ kind: 'delete', name }))
  const { own, version } = bytesAfter(change) ?? { own: 0, version: 0 }
  const definitions = planWrite([...puts, ...deletes], current, room, {
    name: change.name,
    presentGrowth: own + version - (present?.presentBytes ?? 0),
  })
  return { outcome: outcomeOf(change, present, definitions), definitions }
}

/** The bytes of the module after the change. Undefined for a deletion. */
export function bytesAfter(change: ModuleChange): ContentBytes | undefined {
  if (change.kind === 'delete') return undefined
  const tools = change.tools.map(({ name }) => name)
  return moduleBytes({ kept: keptText(change), report: JSON.stringify(change.report), tools })
}

/** True if the definition belongs to the module. A write of a module never deletes other definitions. */
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
