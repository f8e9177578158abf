import { grantsDigest, ToolrackError } from '@toolrack/contract'
import { randomUUID } from 'node:crypto'
import type { StoredDefinition } from '../views/layer-source.ts'
import type { Consent } from './decide-consent.ts'
import type { DefinitionDelete, DefinitionPut } from './definition-change.ts'
import { holds } from '../../precondition.ts'
import { managingModule, planWrite, type PlannedChange } from './plan-write.ts'
import { moduleBytes, type ContentBytes, type Room } from './layer-totals.ts'
import { keptText } from './module-content.ts'
import type {
  ModuleChange,
  ModuleGrants,
  ModulePut,
  ModuleWriteResult,
  ModuleSummary,
} from './module-store.ts'
import { moduleTag } from './module-tag.ts'
import { lockText } from './package-lock.ts'
import { withPending } from './pending-text.ts'
import { presentGrants } from './present-grants.ts'
import { grantsText } from './stored-records.ts'

/** A module that the transaction has read. */
type PresentModule = Pick<ModuleSummary, 'sha256' | 'environment' | 'tools' | keyof ModuleGrants> & {
  readonly presentBytes: number
}

/** The names of all definitions that the module has before the write, after it, or both. */
export function definitionsOf(change: ModuleChange, present: ModuleSummary | undefined): readonly string[] {
  const wanted = change.kind === 'put' ? change.tools.map(({ name }) => name) : []
  return [...new Set([...wanted, ...(present?.tools ?? [])])]
}

/** The present version of a module, or the revocation that its deleted version has left. */
type DecidedBefore = {
  readonly summary: ModuleSummary | undefined
  readonly revocation?: Consent | undefined
}

/**
 * The change with the id of the module's creation, and with the decision about its grants, which depends on what was decided before. `current` has the definitions of the
 * present version.
 */
export function decidedChange(
  change: ModuleChange,
  { summary, revocation }: DecidedBefore,
  current: ReadonlyMap<string, StoredDefinition>,
): ModuleChange {
  if (change.kind === 'delete') return change
  const created = summary ? summary.created : randomUUID()
  if (!change.decide) return { ...change, created }
  const present = summary && presentGrants(change.name, summary, current)
  const { consent, isPending } = change.decide(
    present ?? (revocation && { ...NO_GRANTS, consent: revocation }),
  )
  return { ...change, created, consent, pending: isPending }
}

const NO_GRANTS = { grants: [], grantsDigest: grantsDigest([]) }

/** The part of a result that says whether the tools of the module wait for consent. */
export function pendingIn(change: ModuleChange): Pick<ModuleWriteResult, 'pending'> {
  return change.kind === 'put' && change.pending ? { pending: true } : {}
}

/**
 * Decides the outcome of a write of a module. `present` is the module before the write, and `current` has the present
 * definitions that `definitionsOf` names. The transaction has read both. Throws MODULE_NOT_FOUND, PRECONDITION_FAILED, or the
 * errors of `planWrite`.
 */
export function planModuleWrite(
  change: ModuleChange,
  present: PresentModule | undefined,
  current: ReadonlyMap<string, StoredDefinition>,
  room: Room,
) {
  if (change.kind === 'delete' && !present) throw new ToolrackError('MODULE_NOT_FOUND')
  if (!holds(change.precondition ?? {}, present && moduleTag(present), present?.sha256))
    throw new ToolrackError('PRECONDITION_FAILED', 'The module is not in the state the request asks for.')
  const puts = change.kind === 'put' ? storedTools(change) : []
  const kept = new Set(puts.map(({ name }) => name))
  const deletes = (present?.tools ?? [])
    .filter((name) => !kept.has(name) && isOwn(current.get(name), change.name))
    .map((name): DefinitionDelete => ({ kind: 'delete', name }))
  const { own, version } = bytesAfter(change) ?? { own: 0, version: 0 }
  const definitions = planWrite([...puts, ...deletes], current, room, {
    name: change.name,
    presentGrowth: own + version - (present?.presentBytes ?? 0),
  })
  const outcome = outcomeOf(change, present, definitions)
  return { outcome, definitions, tag: tagAfter(change, outcome === 'unchanged' ? present : undefined) }
}

/** The entity tag of the module after the write. `unchanged` is the module if the write has changed nothing. */
function tagAfter(change: ModuleChange, unchanged: PresentModule | undefined): string | undefined {
  if (change.kind === 'delete') return undefined
  const { sha256, lock, consent } = change
  return moduleTag(unchanged ?? { sha256, consent, ...(lock && { environment: lock.digest }) })
}

/** The bytes of the module after the change. Undefined for a deletion. */
export function bytesAfter(change: ModuleChange): ContentBytes | undefined {
  if (change.kind === 'delete') return undefined
  const tools = change.tools.map(({ name }) => name)
  return moduleBytes({
    kept: keptText(change),
    lock: change.lock ? lockText(change.lock) : null,
    report: JSON.stringify(change.report),
    granted: grantsText(change),
    tools,
  })
}

/** The definitions of the module as they are stored: with `pendingGrants` at the top, if they wait for consent. */
function storedTools({ tools, pending, grantsDigest }: ModulePut): readonly DefinitionPut[] {
  if (pending !== true) return tools
  return tools.map((tool) => ({ ...tool, text: withPending(tool.text, grantsDigest) }))
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
    present.sha256 === change.sha256 &&
    present.environment === change.lock?.digest &&
    change.replacesLock !== true &&
    hasGrantsOf(present, change) &&
    definitions.every(({ outcome }) => outcome === 'unchanged')
  return isSame ? 'unchanged' : 'updated'
}

/**
 * True if the grants and the consent are the same. A record of an earlier version has none, and gets them with the next change.
 */
function hasGrantsOf({ grantsDigest, consent }: PresentModule, change: ModulePut): boolean {
  if (grantsDigest === undefined) return true
  const [before, after] = [consent, change.consent]
  return grantsDigest === change.grantsDigest && before?.digest === after?.digest && before?.at === after?.at
}
