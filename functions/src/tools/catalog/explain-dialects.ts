import type { Conversion, Dialect, Obstacle, ToolDefinition } from '@toolrack/contract'
import { DIALECTS, inDialect, nameIn } from '@toolrack/contract'
import { aliasObstacle } from './alias-obstacle.ts'
import { definitionOf } from './catalog-entry.ts'
import type { CatalogEntry } from './catalog-entry.ts'
import type { CatalogView } from './catalog-view.ts'

/** What becomes of a tool in one dialect. */
export type DialectExplanation = {
  /** The name that the vendor is given. */
  readonly alias: string
  readonly conversion: Conversion
  /** What keeps it out of that list, or from being strict. */
  readonly obstacle: Obstacle | null
}

export type DialectExplanations = Readonly<Record<Dialect, DialectExplanation>>

/** Says for one tool how each vendor is told of it, and why one is not. */
export function explainDialects(view: CatalogView, entry: CatalogEntry): DialectExplanations {
  const definition = definitionOf(entry)
  const hidden = aliasObstacle(view, entry)
  const explained = DIALECTS.map((dialect) => [dialect, explain(definition, dialect, hidden)])
  return Object.fromEntries(explained) as DialectExplanations
}

function explain(
  definition: ToolDefinition,
  dialect: Dialect,
  hidden: Obstacle | undefined,
): DialectExplanation {
  const alias = nameIn(dialect, definition.function.name)
  if (hidden && dialect !== 'gemini') return { alias, conversion: 'quarantined', obstacle: hidden }
  const converted = inDialect(definition, dialect)
  if (!('reason' in converted)) return { alias, conversion: converted.conversion, obstacle: null }
  const { conversion, pointer, reason } = converted
  return { alias, conversion, obstacle: { pointer, reason } }
}
