import { aliasOf } from '../alias.ts'
import type { JsonObject, JsonValue } from '../json.ts'
import { SchemaError } from '../schema-keywords.ts'
import { completeParameters, type ToolDefinition } from '../tool-definition.ts'

/**
 * What becomes of a definition in a dialect: it is sent with the schema as it is listed, with another schema of the same
 * meaning, without the strict mode that was asked for, or not at all.
 */
export const CONVERSIONS = ['full', 'rewritten', 'non-strict', 'quarantined'] as const
export type Conversion = (typeof CONVERSIONS)[number]

/** Why a definition cannot be sent in a dialect, or only without strict mode. */
export type DialectFault = {
  /** JSON Pointer into the definition. */
  readonly pointer: string
  /** A sentence for the author of the definition. */
  readonly reason: string
}

export type Converted<Tool> =
  | { readonly conversion: 'full' | 'rewritten'; readonly item: Tool }
  | ({ readonly conversion: 'non-strict'; readonly item: Tool } & DialectFault)
  | ({ readonly conversion: 'quarantined' } & DialectFault)

/** The schema of a tool's parameters in the form that vendors want. */
export type ObjectSchema = {
  readonly [keyword: string]: JsonValue
  readonly type: 'object'
  readonly properties: { [name: string]: JsonObject }
  readonly required: string[]
}

/** How a definition becomes a tool of a vendor. */
export type ToolRules<Tool> = {
  /**
   * The schema as the vendor takes it. The same object if the vendor takes it as it was written. Throws SchemaError
   * if the vendor would refuse the schema, or has no schema of the same meaning.
   */
  readonly parameters: (written: JsonObject) => JsonObject
  readonly tool: (parts: ToolParts) => Tool
}

/** What a vendor's tool is made of. `name` is the name that the vendor is given. */
export type ToolParts = {
  readonly name: string
  readonly description: string
  readonly parameters: ObjectSchema
  readonly definition: ToolDefinition
}

/** The rules of one dialect for its tools and its lists. */
export type DialectRules<Tool extends object = object> = ToolRules<Tool> & {
  readonly name: string
  /** True if the vendor is given aliases. False if it takes every tool name as it is. */
  readonly usesAliases: boolean
  /** True if a list in this dialect can have the envelope `items`. */
  readonly allowsItems: boolean
  /** The key of the one tool that holds all declarations. Leave it out if each declaration is one tool. */
  readonly declarationsKey?: string
  /** What a definition becomes that the rules above do not allow. Its conversion is `non-strict`. */
  readonly fallback?: ToolRules<Tool>
}

/** The name that a vendor is given for a tool. */
export function nameIn({ usesAliases }: DialectRules, name: string): string {
  return usesAliases ? aliasOf(name) : name
}

/**
 * Converts a definition to a dialect, or says where and why that is impossible. A rewritten schema allows the same
 * arguments. In strict mode it also allows null for "omitted" (see `dropOmittedArguments`).
 */
export function inDialect<Tool extends object>(
  definition: ToolDefinition,
  rules: DialectRules<Tool>,
): Converted<Tool> {
  return inDialectAs(nameIn(rules, definition.function.name), definition, rules)
}

/** The same with the name that the vendor is given. The client uses it, because it makes aliases by WebCrypto. */
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
