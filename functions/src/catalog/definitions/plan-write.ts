import { ToolrackError, type ErrorCode, type ErrorDetail, type ToolDefinition } from '@toolrack/contract'
import type { StoredDefinition } from '../views/layer-source.ts'
import { type DefinitionChange, type DefinitionWriteResult } from './definition-change.ts'
import { holds } from '../../precondition.ts'
import { recordBytes, refuseOverflow, type Growth, type Room } from './layer-totals.ts'

export type PlannedChange = {
  readonly change: DefinitionChange
  readonly outcome: DefinitionWriteResult['outcome']
}

/**
 * Decides the outcome of each change. `current` has the definitions that the transaction has read. `module` is set if the write
 * uploads or deletes a module. Only such a write may change definitions of that module. `presentGrowth` is the number of bytes
 * that the module adds, without those of its definitions.
 *
 * Throws PRECONDITION_FAILED, NAME_TAKEN, TOOL_NOT_FOUND or MANAGED_BY_MODULE with a detail for every change that has a fault,
 * and the errors of `refuseOverflow`.
 */
export function planWrite(
  changes: readonly DefinitionChange[],
  current: ReadonlyMap<string, StoredDefinition>,
  room: Room,
  module?: { readonly name: string; readonly presentGrowth: number },
): readonly PlannedChange[] {
  const writer = module?.name
  const decisions = changes.map((change) => ({ change, ...decide(change, current.get(change.name), writer) }))
  const details = decisions.flatMap(({ fault }, index): ErrorDetail[] =>
    fault ? [{ ...fault.detail, ...(changes.length > 1 && { index }) }] : [],
  )
  const [first] = decisions.flatMap(({ fault }) => fault ?? [])
  if (first) throw new ToolrackError(first.detail.reason, first.message, { details })
  const planned = decisions.map(({ change, outcome }) => ({ change, outcome: outcome ?? 'unchanged' }))
  refuseOverflow(room, growthOf(planned, current, module?.presentGrowth ?? 0))
  return planned
}

/** The changes that write something: all but those with the outcome `unchanged` or `skipped`. */
export function written(planned: readonly PlannedChange[]): readonly PlannedChange[] {
  return planned.filter(({ outcome }) => outcome !== 'unchanged' && outcome !== 'skipped')
}

type Decision = {
  readonly outcome?: DefinitionWriteResult['outcome']
  readonly fault?: { readonly detail: ErrorDetail; readonly message: string | undefined }
}

const UNMANAGED =
  'A definition whose runner is python is made by uploading its module: PUT …/tools/modules/{module}.'

function decide(
  change: DefinitionChange,
  current: StoredDefinition | undefined,
  writer: string | undefined,
): Decision {
  if (change.kind === 'put' && current && change.onConflict === 'skip') return { outcome: 'skipped' }
  const owner = current && managingModule(current)
  if (writer === undefined && owner !== undefined) return refuseManaged(owner)
  if (writer === undefined && change.kind === 'put' && managingModule(change) !== undefined)
    return refuse('MANAGED_BY_MODULE', UNMANAGED)
  if (writer !== undefined && current && owner !== writer) return refuseTaken(change.name, owner)
  if (change.kind === 'delete' && !current) return refuse('TOOL_NOT_FOUND')
  if (!holds(change.precondition ?? {}, current?.digest)) return refuse('PRECONDITION_FAILED')
  if (change.kind === 'delete') return { outcome: 'deleted' }
  if (!current) return { outcome: 'created' }
  if (change.onConflict === 'error') return refuse('NAME_TAKEN')
  // A write replaces a document of another program (`source`) by a document of this service, even if the definition is the same.
  const isOwn = current.source === undefined
  return { outcome: isOwn && current.text === change.text ? 'unchanged' : 'updated' }
}

function refuse(reason: ErrorCode, message?: string, fields: Omit<ErrorDetail, 'reason'> = {}): Decision {
  return { fault: { detail: { reason, ...fields }, message } }
}

function refuseManaged(module: string): Decision {
  const message = `The tool belongs to the module ${module} and changes only with it: upload the module anew, or delete it.`
  return refuse('MANAGED_BY_MODULE', message, { module })
}

/** Refuses a tool of a module whose name the layer already has, as a definition that is not from this module. */
function refuseTaken(name: string, owner: string | undefined): Decision {
  const whose = owner === undefined ? 'as a definition of its own' : `as a tool of the module ${owner}`
  const message = `The layer has ${name} already, ${whose}: delete that, or rename the tool. Nothing was written.`
  return refuse('NAME_TAKEN', message, { name, ...(owner !== undefined && { module: owner }) })
}

function growthOf(
  planned: readonly PlannedChange[],
  current: ReadonlyMap<string, StoredDefinition>,
  ofModule: number,
): Growth {
  const created = planned.filter(({ outcome }) => outcome === 'created').length
  const deleted = planned.filter(({ outcome }) => outcome === 'deleted').length
  const presentBytes = written(planned).reduce((sum, { change }) => {
    const after = change.kind === 'put' ? change.text : undefined
    return sum + bytesOf(after) - bytesOf(current.get(change.name)?.text)
  }, ofModule)
  return { created, size: created - deleted, presentBytes }
}

/** The bytes that a present definition takes. It is stored twice: as the definition and as its newest version. */
function bytesOf(text: string | undefined): number {
  return text === undefined ? 0 : 2 * recordBytes(text)
}

type Stored = Pick<StoredDefinition, 'text' | 'source'>

/**
 * The module that a definition belongs to. Undefined if its runner is not `python`, or if another program wrote it (`source`).
 */
export function managingModule({ text, source }: Stored): string | undefined {
  // Parses the text only if it may contain a Python runner. A write can have 200 definitions, and parsing all of them takes time.
  if (source !== undefined || !text.includes('"python"')) return undefined
  const { runner } = JSON.parse(text) as ToolDefinition
  if (runner?.kind !== 'python') return undefined
  return typeof runner['module'] === 'string' ? runner['module'] : ''
}
