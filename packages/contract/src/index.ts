/** The types and rules that the service and the client share. This package does no I/O and does not need Node. */
export { aliasOf, hashedAlias, plainAlias } from './alias.ts'
export type { AnsweredCall, CallFormat, ToolCall } from './calls/call-format.ts'
export { CALLS_MAX, findCalls, isCallId, readCalls } from './calls/read-calls.ts'
export type { FoundCall, ReadCalls } from './calls/read-calls.ts'
export { definitionDigest, digestedText } from './definition-digest.ts'
export type { Digest } from './definition-digest.ts'
export { CONVERSIONS, inDialect, inDialectAs, nameIn } from './dialects/in-dialect.ts'
export type { Conversion, DialectFault, DialectRules } from './dialects/in-dialect.ts'
export { dropOmittedArguments } from './dialects/null-arguments.ts'
export { ERROR_CODES } from './error-code.ts'
export type { ErrorCode, ErrorKind } from './error-code.ts'
export {
  canonicalJson,
  holdsLargeInteger,
  isJsonObject,
  jsonPointer,
  parsedJson,
  pointerKeys,
  valueAt,
} from './json.ts'
export type { JsonObject, JsonValue } from './json.ts'
export { parseNameEntry, parseNameFilter } from './name-filter.ts'
export type { NameFilter, NameFilterFault } from './name-filter.ts'
export { mapSubschemas, subschemas } from './schema-keywords.ts'
export type { SchemaPath } from './schema-keywords.ts'
export { completeParameters, LAYERS, listedTool, RUNNER_KINDS } from './tool-definition.ts'
export type { Layer, ListedTool, ToolDefinition, ToolLimits, ToolRunner } from './tool-definition.ts'
export { isToolName, readableName, TOOL_NAME_RULE, toolNameFault } from './tool-name.ts'
export { toolFailure, toolResult } from './tool-result.ts'
export type { InvocationMeta, InvocationResult, ResourceUsage, ToolResult } from './tool-result.ts'
export { errorBody, isToolrackError, ToolrackError } from './toolrack-error.ts'
export type { ErrorBody, ErrorDetail } from './toolrack-error.ts'
export type { AnthropicTool } from './vendors/anthropic.ts'
export type { GeminiTool } from './vendors/gemini.ts'
export { CALL_FORMATS, dialectRules, DIALECTS, hasListedShape, writeCall } from './vendors/registry.ts'
export type { CallFormatName, Dialect, DialectTools, ToolOf } from './vendors/registry.ts'
