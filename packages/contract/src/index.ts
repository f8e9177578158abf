/** What both ends of every Toolrack wire agree on. Pure: no I/O, no vendor, no Node built-in. */
export { aliasOf } from './alias.ts'
export { hashedAlias, plainAlias } from './alias-rule.ts'
export { isCallId } from './calls/call-id.ts'
export { findCalls } from './calls/find-calls.ts'
export { holdsLargeInteger } from './calls/gemini-format.ts'
export type { CallsFault, FoundCalls } from './calls/find-calls.ts'
export { CALLS_MAX, readCalls } from './calls/read-calls.ts'
export type { ReadCalls } from './calls/read-calls.ts'
export type { AnsweredCall, ToolCall, WireFormat } from './calls/tool-call.ts'
export { canonicalJson } from './canonical-json.ts'
export { readableName } from './confusable-name.ts'
export { CONVERSIONS, DIALECTS, hasAliases } from './dialects/dialect.ts'
export type { Conversion, Converted, Dialect, Obstacle } from './dialects/dialect.ts'
export { inDialect, inDialectAs } from './dialects/in-dialect.ts'
export { nameIn } from './dialects/name-in.ts'
export type {
  AnthropicTool,
  DialectTools,
  GeminiDeclaration,
  McpTool,
  ObjectSchema,
  OpenaiResponsesTool,
  OpenaiTool,
} from './dialects/vendor-tools.ts'
export { withoutNulls } from './dialects/without-nulls.ts'
export { definitionDigest, digestedText } from './definition-digest.ts'
export type { Digest } from './definition-digest.ts'
export { ERROR_CODES } from './error-code.ts'
export type { ErrorCode, ErrorKind } from './error-code.ts'
export type { InvocationMeta, InvocationResult, ResourceUsage } from './invocation-result.ts'
export { isJsonObject, parsedJson } from './json.ts'
export type { JsonObject, JsonValue } from './json.ts'
export { jsonPointer, pointerKeys, valueAt } from './json-pointer.ts'
export { completeParameters, listedTool } from './listed-tool.ts'
export type { ListedTool } from './listed-tool.ts'
export { NAMES_MAX, parseNameEntry, parseNameFilter } from './name-filter.ts'
export type { NameFilter, NameFilterFault } from './name-filter.ts'
export { mapSubschemas, subschemas } from './schema-keywords.ts'
export type { SchemaPath } from './schema-keywords.ts'
export { sha256Hex } from './sha256.ts'
export { LAYERS, RUNNER_KINDS } from './tool-definition.ts'
export type {
  Layer,
  RunnerKind,
  ToolAnnotations,
  ToolDefinition,
  ToolLimits,
  ToolRunner,
} from './tool-definition.ts'
export { errorBody, isToolrackError, ToolrackError } from './toolrack-error.ts'
export type { ErrorBody, ErrorDetail } from './toolrack-error.ts'
export { isToolName, TOOL_NAME_RULE, toolNameFault } from './tool-name.ts'
export { toolFailure, toolResult } from './tool-result.ts'
export type { ToolResult } from './tool-result.ts'
