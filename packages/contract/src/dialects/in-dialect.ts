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
  return CONVERTERS[dialect](definition)
}

type Convert<Tool> = (definition: ToolDefinition) => Converted<Tool>
type Shape<Tool> = (definition: ToolDefinition, parameters: ObjectSchema) => Tool

const CONVERTERS: { readonly [D in Dialect]: Convert<DialectTools[D]> } = {
  openai: converter(openaiParameters, openaiTool),
  'openai-responses': converter(openaiParameters, (definition, parameters) => ({
    type: 'function',
    ...named(definition, 'openai-responses'),
    parameters,
    strict: false,
  })),
  'openai-strict': convertStrict,
  anthropic: converter(anthropicParameters, (definition, parameters) => ({
    ...named(definition, 'anthropic'),
    input_schema: parameters,
  })),
  gemini: converter(geminiParameters, (definition, parameters) => ({
    ...named(definition, 'gemini'),
    parametersJsonSchema: parameters,
  })),
  mcp: converter(mcpParameters, mcpTool),
}

function converter<Tool>(toParameters: ToParameters, shape: Shape<Tool>): Convert<Tool> {
  return function convert(definition) {
    try {
      const { parameters, isRewritten } = toParameters(definition.function.parameters)
      return { conversion: isRewritten ? 'rewritten' : 'full', item: shape(definition, parameters) }
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

const convertToStrict = converter(openaiStrictParameters, (definition, parameters) =>
  openaiTool(definition, parameters, true),
)
const convertToLoose = converter(openaiParameters, (definition, parameters) =>
  openaiTool(definition, parameters, false),
)

/** What does not qualify is sent as it would be without strictness, and says so. */
function convertStrict(definition: ToolDefinition): Converted<OpenaiTool> {
  const strict = convertToStrict(definition)
  if (strict.conversion !== 'quarantined') return strict
  const loose = convertToLoose(definition)
  return 'item' in loose ? { ...strict, conversion: 'non-strict', item: loose.item } : loose
}

function openaiTool(definition: ToolDefinition, parameters: ObjectSchema, strict?: boolean): OpenaiTool {
  const tool = { ...named(definition, 'openai'), parameters }
  return { type: 'function', function: strict === undefined ? tool : { ...tool, strict } }
}

/** MCP's hints have the names that definitions use; any other is ours alone. */
function mcpTool(definition: ToolDefinition, inputSchema: ObjectSchema): McpTool {
  const { name, description } = named(definition, 'mcp')
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

function named({ function: { name, description } }: ToolDefinition, dialect: Dialect) {
  return { name: nameIn(dialect, name), description }
}
