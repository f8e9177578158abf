import type { ErrorCode, ErrorDetail, JsonValue, ToolDefinition } from '@toolrack/contract'
import { ERROR_CODES, ToolrackError } from '@toolrack/contract'
import type { StoredDefinition } from '../catalog/layer-source.ts'
import { holds, type DefinitionChange, type DefinitionWriteResult } from './definition-change.ts'
import { definitionBytes, refuseOverflow, type Growth, type Room } from '../records/layer-totals.ts'

export type PlannedChange = {
  readonly change: DefinitionChange
  readonly outcome: DefinitionWriteResult['outcome']
}

/** The module that is written, and the bytes that it adds in addition to those of its definitions. */
export type ModuleOfWrite = { readonly name: string; readonly presentGrowth: number }

/**
 * Decides the outcome of each change, from the definitions that the transaction has read. `module` is set if the write
 * uploads or deletes a module. Only such a write may change definitions of the module.
 *
 * Throws PRECONDITION_FAILED, NAME_TAKEN, TOOL_NOT_FOUND or MANAGED_BY_MODULE with a detail for every change that has a
 * fault, and the errors of `refuseOverflow`.
 */
export function planWrite(
  changes: readonly DefinitionChange[],
  current: ReadonlyMap<string, StoredDefinition>,
  room: Room,
  module?: ModuleOfWrite,
): readonly PlannedChange[] {
  const writer = module?.name
  const decisions = changes.map((change) => ({ change, ...decide(change, current.get(change.name), writer) }))
  const details = decisions.flatMap(({ fault }, index): ErrorDetail[] =>
    fault ? [{ ...fault.detail, ...(changes.length > 1 && { index }) }] : [],
  )
  const [first] = decisions.flatMap(({ fault }) => fault ?? [])
  if (first) throw new ToolrackError(first.detail.reason, first.message, { details })
  const planned = decisions.map(({ change, outcome }) => ({ change, outcome: outcome ?? 'unchanged' }))
  const growth = growthOf(planned, current)
  refuseOverflow(room, { ...growth, presentBytes: growth.presentBytes + (module?.presentGrowth ?? 0) })
  return planned
}

/** The changes that write something: all but those with the outcome `unchanged` or `skipped`. */
export function written(planned: readonly PlannedChange[]): readonly PlannedChange[] {
  return planned.filter(({ outcome }) => outcome !== 'unchanged' && outcome !== 'skipped')
}

type Fields = { readonly [field: string]: JsonValue }
type Decision = {
  readonly outcome?: DefinitionWriteResult['outcome']
  readonly fault?: { readonly detail: ErrorDetail; readonly message: string }
}

function decide(
  change: DefinitionChange,
  current: StoredDefinition | undefined,
  writer: string | undefined,
): Decision {
  if (change.kind === 'put' && current && change.onConflict === 'skip') return { outcome: 'skipped' }
  const owner = current && managingModule(current)
  if (writer === undefined && owner !== undefined) return refuseManaged(owner)
  if (writer === undefined && change.kind === 'put' && managingModule(change) !== undefined)
    return refuseUnmanaged()
  if (writer !== undefined && current && owner !== writer) return refuseTaken(change.name, owner)
  if (change.kind === 'delete' && !current) return refuse('TOOL_NOT_FOUND')
  if (!holds(change.precondition ?? {}, current?.digest)) return refuse('PRECONDITION_FAILED')
  if (change.kind === 'delete') return { outcome: 'deleted' }
  if (!current) return { outcome: 'created' }
  if (change.onConflict === 'error') return refuse('NAME_TAKEN')
  return { outcome: current.text === change.text ? 'unchanged' : 'updated' }
}

function refuse(
  reason: ErrorCode,
  message: string = ERROR_CODES[reason].text,
  fields: Fields = {},
): Decision {
  return { fault: { detail: { reason, ...fields }, message } }
}

function refuseManaged(module: string): Decision {
  const message = `The tool belongs to the module ${module} and changes only with it: upload the module anew, or delete it.`
  return refuse('MANAGED_BY_MODULE', message, { module })
}

function refuseUnmanaged(): Decision {
  return refuse(
    'MANAGED_BY_MODULE',
    'A definition whose runner is python is made by uploading its module: PUT …/tools/modules/{module}.',
  )
}

/** Refuses a tool of a module if its name belongs to another definition of the layer that is not from this module. */
function refuseTaken(name: string, owner: string | undefined): Decision {
  const whose = owner === undefined ? 'as a definition of its own' : `as a tool of the module ${owner}`
  const message = `The layer has ${name} already, ${whose}: delete that, or rename the tool. Nothing was written.`
  return refuse('NAME_TAKEN', message, { name, ...(owner !== undefined && { module: owner }) })
}

function growthOf(planned: readonly PlannedChange[], current: ReadonlyMap<string, StoredDefinition>): Growth {
  const count = (wanted: DefinitionWriteResult['outcome']): number =>
    planned.filter(({ outcome }) => outcome === wanted).length
  const created = count('created')
  const growths = written(planned).map(({ change }) => {
    const after = change.kind === 'put' ? change.text : undefined
    return presentBytes(after) - presentBytes(current.get(change.name)?.text)
  })
  const growth = growths.reduce((sum, bytes) => sum + bytes, 0)
  return { created, size: created - count('deleted'), presentBytes: growth }
}

function presentBytes(text: string | undefined): number {
  if (text === undefined) return 0
  const { own, version } = definitionBytes(text)
  return own + version
}

/**
 * The module that a stored definition belongs to. A definition belongs to a module if its runner is `python`. The exception
 * is a definition of another program in the store: it has a `source`, and belongs to no module.
 */
export function managingModule({
  text,
  source,
}: Pick<StoredDefinition, 'text' | 'source'>): string | undefined {
  // Parses the text only if it may contain a Python runner, because a write can have 200 definitions.
  if (source !== undefined || !text.includes('"python"')) return undefined
  const { runner } = JSON.parse(text) as ToolDefinition
  if (runner?.kind !== 'python') return undefined
  return typeof runner['module'] === 'string' ? runner['module'] : ''
}
