import { dialectRules, type DialectRules } from '@toolrack/contract'
import type { ListQuery } from './list-query.ts'

/** The rules for a list of items whose names are aliases, which every vendor accepts. The schemas are not converted. */
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

/** The rules by which a list converts its tools. Undefined for a list that has the tools as they are stored. */
export function listRules({ dialect, envelope, itemNames }: ListQuery): DialectRules | undefined {
  if (dialect !== undefined) return dialectRules(dialect)
  return envelope === 'items' && itemNames === 'alias' ? ITEMS_WITH_ALIASES : undefined
}
