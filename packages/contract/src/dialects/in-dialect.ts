import { aliasOf } from '../alias.ts'
import type { JsonObject, JsonValue } from '../json.ts'
import { SchemaError } from '../schema-keywords.ts'
import { completeParameters, type ToolDefinition } from '../tool-definition.ts'

/**
 * The possible results of converting a definition to a dialect:
 *
 * - `full`: the tool has the schema that a list without a dialect shows.
 * - `rewritten`: the tool has another schema of the same meaning.
 * - `non-strict`: strict mode was requested, but the tool is sent without strict mode.
 * - `quarantined`: the tool is not sent.
 */
export const CONVERSIONS = ['full', 'rewritten', 'non-strict', 'quarantined'] as const
export type Conversion = (typeof CONVERSIONS)[number]

/** Why a definition cannot be sent in a dialect, or only without strict mode. */
export type DialectFault = {
  /** The place of the fault in the definition, as a JSON Pointer. */
  readonly pointer: string
  /** A sentence for the author of the definition. */
  readonly reason: string
}

export type Converted<Tool> =
  | { readonly conversion: 'full' | 'rewritten'; readonly item: Tool }
  | ({ readonly conversion: 'non-strict'; readonly item: Tool } & DialectFault)
  | ({ readonly conversion: 'quarantined' } & DialectFault)

/** The schema of a tool's parameters, with the keys that vendors require. */
export type ObjectSchema = {
  readonly [keyword: string]: JsonValue
  readonly type: 'object'
  readonly properties: { [name: string]: JsonObject }
  readonly required: string[]
}

/** The rules by which a definition is converted to a tool of a vendor. */
export type ToolRules<Tool> = {
  /**
   * Converts a schema for the vendor. Returns the same object if the vendor accepts the schema unchanged. Throws
   * SchemaError if the vendor accepts no schema of the same meaning.
   */
  readonly parameters: (written: JsonObject) => JsonObject
  readonly tool: (parts: ToolParts) => Tool
}

/** The parts of a tool of a vendor. `name` is the name that the vendor gets. */
export type ToolParts = {
  readonly name: string
  readonly description: string
  readonly parameters: ObjectSchema
  readonly definition: ToolDefinition
}

/** How a vendor searches tools itself. The model sees a deferred tool only after the vendor's search tool has found it. */
export type Deferral = {
  /** The element of the list that is the vendor's search tool. */
  readonly searchTool: JsonObject
  /** The keys that defer a tool of the list. */
  readonly mark: JsonObject
}

/** The rules by which one dialect makes its tools and its lists. */
export type DialectRules<Tool extends object = object> = ToolRules<Tool> & {
  readonly name: string
  /** True if the vendor gets aliases. False if it accepts every tool name unchanged. */
  readonly usesAliases: boolean
  /** True if a list in this dialect can have the envelope `items`. */
  readonly allowsItems: boolean
  /**
   * If a single tool in the list contains all declarations, the key of the declarations in it. Undefined if each declaration is a
   * tool.
   */
  readonly declarationsKey?: string
  /** How the vendor itself searches deferred tools. Undefined if the vendor has no search. */
  readonly deferral?: Deferral
  /** The rules that are used if the rules above refuse a definition. Then the conversion is `non-strict`. */
  readonly fallback?: ToolRules<Tool>
}

/** The name that the vendor gets for a tool. */
export function nameIn({ usesAliases }: DialectRules, name: string): string {
  return usesAliases ? aliasOf(name) : name
}

/**
 * Converts a definition to a dialect. If that is impossible, returns the place of the fault and the reason. A rewritten schema
 * allows the same arguments as the original one. In strict mode it also allows null, which means "omitted" (see
 * `dropOmittedArguments`).
 */
export function inDialect<Tool extends object>(
  definition: ToolDefinition,
  rules: DialectRules<Tool>,
): Converted<Tool> {
  return inDialectAs(nameIn(rules, definition.function.name), definition, rules)
}

/**
 * Does the same as `inDialect`, with a name that the caller has made. The client needs this, because it makes aliases with
 * WebCrypto.
 */
export function inDialectAs<Tool extends object>(
  name: string,
  definition: ToolDefinition,
  rules: DialectRules<Tool>,
): Converted<Tool> {
  const converted = convert(definition, rules, name)
  if (converted.conversion !== 'quarantined' || !rules.fallback) return converted
  const loose = convert(definition, rules.fallback, name)
  return 'item' in loose ? { ...converted, conversion: 'non-strict', item: loose.item } : loose
}

function convert<Tool>(definition: ToolDefinition, rules: ToolRules<Tool>, name: string): Converted<Tool> {
  const { description, parameters: written } = definition.function
  try {
    const schema = rules.parameters(written)
    const parameters = completeParameters(schema) as ObjectSchema
    const item = rules.tool({ name, description, parameters, definition })
    return { conversion: schema === written ? 'full' : 'rewritten', item }
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    const pointer = `/function/parameters${error.pointer}`
    return { conversion: 'quarantined', pointer, reason: error.message }
  }
}
