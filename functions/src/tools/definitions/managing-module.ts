import type { ToolDefinition } from '@toolrack/contract'
import type { StoredDefinition } from '../catalog/stored-definition.ts'

/**
 * The module that a stored definition belongs to: exactly one whose runner is `python` belongs to a module. What another
 * program left in a store, which has a source, belongs to none.
 */
export function managingModule({
  text,
  source,
}: Pick<StoredDefinition, 'text' | 'source'>): string | undefined {
  // A write asks this of up to 200 definitions in one turn, and hardly one of them is worth parsing.
  if (source !== undefined || !text.includes('"python"')) return undefined
  const { runner } = JSON.parse(text) as ToolDefinition
  if (runner?.kind !== 'python') return undefined
  return typeof runner['module'] === 'string' ? runner['module'] : ''
}
