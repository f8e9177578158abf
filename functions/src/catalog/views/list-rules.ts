import { dialectRules, type DialectRules } from '@toolrack/contract'
import type { ListQuery } from './list-query.ts'

/** Items whose names every vendor takes. Their schemas stay as they were written. */
const ITEMS_WITH_ALIASES: DialectRules = {
  name: 'items',
  usesAliases: true,
  allowsItems: true,
  parameters: (written) => written,
  tool: ({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }),
}

/** The rules by which a list makes its tools. Undefined for a list that has them as they were serialised. */
export function listRules({ dialect, envelope, itemNames }: ListQuery): DialectRules | undefined {
  if (dialect !== undefined) return dialectRules(dialect)
  return envelope === 'items' && itemNames === 'alias' ? ITEMS_WITH_ALIASES : undefined
}
