import type { ErrorCode, ErrorDetail } from '@toolrack/contract'
import { ERROR_CODES, ToolrackError } from '@toolrack/contract'
import type { DefinitionChange, Precondition } from './definition-change.ts'
import type { ChangeOutcome } from './definition-store.ts'
import type { StoredDefinition } from '../catalog/stored-definition.ts'

export type PlannedChange = { readonly change: DefinitionChange; readonly outcome: ChangeOutcome['outcome'] }

/**
 * Decides what a write does, from what its transaction has read; every store calls it, so none can differ.
 * Throws PRECONDITION_FAILED, NAME_TAKEN, TOOL_NOT_FOUND or LAYER_FULL with a detail for every change that is refused.
 */
export function planWrite(
  changes: readonly DefinitionChange[],
  current: ReadonlyMap<string, StoredDefinition>,
  size: number,
  definitionsMax: number,
): readonly PlannedChange[] {
  const decisions = changes.map((change) => ({ change, ...decide(change, current.get(change.name)) }))
  const refused: ErrorDetail[] = decisions.flatMap(({ refusal }, index) =>
    refusal ? [{ reason: refusal, ...(changes.length > 1 && { index }) }] : [],
  )
  const first = refused[0]
  if (first) throw new ToolrackError(first.reason, ERROR_CODES[first.reason].text, { details: refused })
  const planned = decisions.map(({ change, outcome }) => ({ change, outcome: outcome ?? 'unchanged' }))
  const created = planned.filter(({ outcome }) => outcome === 'created').length
  if (created > 0 && size + created > definitionsMax) {
    throw new ToolrackError(
      'LAYER_FULL',
      `The layer holds ${size} definitions and may hold ${definitionsMax}; delete some first. Nothing was written.`,
    )
  }
  return planned
}

type Decision = { readonly outcome?: ChangeOutcome['outcome']; readonly refusal?: ErrorCode }

function decide(change: DefinitionChange, current: StoredDefinition | undefined): Decision {
  if (change.kind === 'delete' && !current) return { refusal: 'TOOL_NOT_FOUND' }
  if (!holds(change.precondition, current)) return { refusal: 'PRECONDITION_FAILED' }
  if (change.kind === 'delete') return { outcome: 'deleted' }
  if (!current) return { outcome: 'created' }
  if (change.onConflict === 'error') return { refusal: 'NAME_TAKEN' }
  if (change.onConflict === 'skip') return { outcome: 'skipped' }
  return { outcome: current.text === change.text ? 'unchanged' : 'updated' }
}

function holds(precondition: Precondition | undefined, current: StoredDefinition | undefined): boolean {
  const { ifMatch, ifNoneMatch } = precondition ?? {}
  if (ifMatch && !(current && (ifMatch === '*' || ifMatch.has(current.digest)))) return false
  return !(ifNoneMatch && current && (ifNoneMatch === '*' || ifNoneMatch.has(current.digest)))
}
