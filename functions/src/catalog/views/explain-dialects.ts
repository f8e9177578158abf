import type { Conversion, Dialect, DialectFault, DialectRules, ToolDefinition } from '@toolrack/contract'
import { dialectRules, DIALECTS, inDialect, nameIn } from '@toolrack/contract'
import { definitionOf, type CatalogEntry } from './catalog-entry.ts'
import type { Pieces } from '../../loop-turn.ts'
import type { CatalogView } from './catalog-view.ts'

/** What happens to a tool when it is converted to one dialect. */
type DialectExplanation = {
  /** The name of the tool in the list for the vendor. */
  readonly alias: string
  readonly conversion: Conversion
  /** Why the tool is not in the list, or is in the list without strict mode. Null if there is no such reason. */
  readonly obstacle: DialectFault | null
}

export type DialectExplanations = Readonly<Record<Dialect, DialectExplanation>>

export function* explainDialects(view: CatalogView, entry: CatalogEntry): Pieces<DialectExplanations> {
  const definition = definitionOf(entry)
  const explained: [Dialect, DialectExplanation][] = []
  for (const dialect of DIALECTS) {
    yield
    explained.push([dialect, explainDialect(view, definition, dialectRules(dialect))])
  }
  return Object.fromEntries(explained) as DialectExplanations
}

export function explainDialect(
  view: CatalogView,
  definition: ToolDefinition,
  dialect: DialectRules,
): DialectExplanation {
  const { name } = definition.function
  const alias = nameIn(dialect, name)
  const fault = dialect.usesAliases ? aliasFault(view, name, alias) : undefined
  if (fault) return { alias, conversion: 'quarantined', obstacle: fault }
  const converted = inDialect(definition, dialect)
  const obstacle = 'reason' in converted ? { pointer: converted.pointer, reason: converted.reason } : null
  return { alias, conversion: converted.conversion, obstacle }
}

/**
 * The fault of a tool whose alias means another tool. The alias is the name of that other tool, or that tool has the same alias
 * and comes first. The tool has this fault even if the list does not contain the other tool.
 */
export function aliasFault(view: CatalogView, name: string, alias: string): DialectFault | undefined {
  const called = view.meaning(alias)
  if (!called || called.name === name) return undefined
  const what = called.name === alias ? 'is the name' : 'is also the alias'
  return { pointer: '/function/name', reason: `its alias ${what} of ${called.name}, which a call by it runs` }
}
