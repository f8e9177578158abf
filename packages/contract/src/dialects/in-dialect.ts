import type { ToolDefinition } from '../tool-definition.ts'
import type { Converted, Dialect } from './dialect.ts'
import { nameIn } from './name-in.ts'
import { Unfit } from './unfit.ts'
import type { DialectTools, McpTool, ObjectSchema, OpenaiTool } from './vendor-tools.ts'
import {
  anthropicParameters,
  geminiParameters,
  mcpParameters,
  openaiParameters,
  openaiStrictParameters,
} from './vendor-parameters.ts'
import type { ToParameters } from './vendor-parameters.ts'

/**
 * A definition as a vendor's `tools` field takes it, or where and why it can't be. Whatever is rewritten admits the same
 * arguments, but for `openai-strict`, where null means that a parameter is left out (`withoutNulls`).
 */
export function inDialect<D extends Dialect>(
  definition: ToolDefinition,
  dialect: D,
): Converted<DialectTools[D]> {
  return inDialectAs(nameIn(dialect, definition.function.name), definition, dialect)
}

/** The same, by the name that the vendor is given. */
export function inDialectAs<D extends Dialect>(
  name: string,
  definition: ToolDefinition,
  dialect: D,
): Converted<DialectTools[D]> {
  return CONVERTERS[dialect]({ name, definition })
}

/** A definition, and the name that the vendor is given for it. */
type Named = { readonly name: string; readonly definition: ToolDefinition }
type Convert<Tool> = (tool: Named) => Converted<Tool>
type Shape<Tool> = (tool: Named, parameters: ObjectSchema) => Tool

const CONVERTERS: { readonly [D in Dialect]: Convert<DialectTools[D]> } = {
  openai: converter(openaiParameters, openaiTool),
  'openai-responses': converter(openaiParameters, (tool, parameters) => ({
    type: 'function',
    ...named(tool),
    parameters,
    strict: false,
  })),
  'openai-strict': convertStrict,
  anthropic: converter(anthropicParameters, (tool, parameters) => ({
    ...named(tool),
    input_schema: parameters,
  })),
  gemini: converter(geminiParameters, (tool, parameters) => ({
    ...named(tool),
    parametersJsonSchema: parameters,
  })),
  mcp: converter(mcpParameters, mcpTool),
}

function converter<Tool>(toParameters: ToParameters, shape: Shape<Tool>): Convert<Tool> {
  return function convert(tool) {
    try {
      const { parameters, isRewritten } = toParameters(tool.definition.function.parameters)
      return { conversion: isRewritten ? 'rewritten' : 'full', item: shape(tool, parameters) }
    } catch (error) {
      if (!(error instanceof Unfit)) throw error
      return {
        conversion: 'quarantined',
        pointer: `/function/parameters${error.pointer}`,
        reason: error.message,
      }
    }
  }
}

const convertToStrict = converter(openaiStrictParameters, (tool, parameters) =>
  openaiTool(tool, parameters, true),
)
const convertToLoose = converter(openaiParameters, (tool, parameters) => openaiTool(tool, parameters, false))

/** What does not qualify is sent as it would be without strictness, and says so. */
function convertStrict(tool: Named): Converted<OpenaiTool> {
  const strict = convertToStrict(tool)
  if (strict.conversion !== 'quarantined') return strict
  const loose = convertToLoose(tool)
  return 'item' in loose ? { ...strict, conversion: 'non-strict', item: loose.item } : loose
}

function openaiTool(tool: Named, parameters: ObjectSchema, strict?: boolean): OpenaiTool {
  const described = { ...named(tool), parameters }
  return { type: 'function', function: strict === undefined ? described : { ...described, strict } }
}

/** MCP's hints have the names that definitions use; any other is ours alone. */
function mcpTool(tool: Named, inputSchema: ObjectSchema): McpTool {
  const { name, description } = named(tool)
  const { definition } = tool
  const { title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = definition.annotations ?? {}
  const hints = { title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint }
  const annotations = Object.fromEntries(Object.entries(hints).filter(([, hint]) => hint !== undefined))
  const canonical = definition.function.name
  return {
    name,
    ...(title !== undefined && { title }),
    description,
    inputSchema,
    ...(Object.keys(annotations).length > 0 && { annotations }),
    ...(canonical !== name && { _meta: { 'toolrack/name': canonical } }),
  }
}

function named({ name, definition }: Named) {
  return { name, description: definition.function.description }
}
