import { ToolReadings, type JsonObject, type RuledTool, type ToolDefinition } from '@toolrack/contract'
import { definitionOf, type CatalogEntry } from './catalog-entry.ts'

/**
 * For each tool that was called, its `ToolReadings`: how its arguments are read. When an entry is no longer in the catalog, its
 * readings are freed too.
 */
const CALLED = new WeakMap<CatalogEntry, ToolReadings>()

/** How the arguments of a tool are read when it is called. This is computed from the definition only once. */
export function readingsOfCalled(entry: CatalogEntry): ToolReadings {
  let readings = CALLED.get(entry)
  if (!readings) CALLED.set(entry, (readings = new ToolReadings(new EntryTool(entry)).whole()))
  return readings
}

/** The tool as rules see it. Its definition is parsed only if a rule about the tool names arguments. */
export function ruledTool(entry: CatalogEntry): RuledTool {
  return new EntryTool(entry)
}

class EntryTool implements RuledTool {
  readonly #entry: CatalogEntry
  #definition: ToolDefinition | undefined
  #readings: ToolReadings | undefined

  constructor(entry: CatalogEntry) {
    this.#entry = entry
  }

  get name(): string {
    return this.#entry.name
  }

  get classes(): RuledTool['classes'] {
    return this.#entry.classes
  }

  get grants(): CatalogEntry['grants'] {
    return this.#entry.grants
  }

  get parameters(): JsonObject {
    return this.#parsed.function.parameters ?? {}
  }

  get runner(): RuledTool['runner'] {
    return this.#parsed.runner
  }

  /** After a list, the readings are not kept, because a list reads many tools that nobody calls. */
  get readings(): ToolReadings {
    return (this.#readings ??= CALLED.get(this.#entry) ?? new ToolReadings(this))
  }

  get #parsed(): ToolDefinition {
    return (this.#definition ??= definitionOf(this.#entry))
  }
}
