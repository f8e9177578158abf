/** The types and rules that the service and the client share. This package does no I/O and does not need Node. */
export { aliasOf, hashedAlias, plainAlias } from './alias.ts'
export { answerCalls, type ReportedResult } from './calls/answer-calls.ts'
export { imagesToShow, type AnsweredImage, type ImageRules } from './calls/answer-images.ts'
export type { AnsweredCall, CallFormat, ToolCall } from './calls/call-format.ts'
export { CALLS_MAX, findCalls, isCallId, readCalls } from './calls/read-calls.ts'
export type { FoundCall, ReadCalls } from './calls/read-calls.ts'
export { definitionDigest, digestedText, type Digest } from './definition-digest.ts'
export { CONVERSIONS, inDialect, inDialectAs, nameIn } from './dialects/in-dialect.ts'
export type { Conversion, DialectFault, DialectRules } from './dialects/in-dialect.ts'
export { dropOmittedArguments } from './dialects/null-arguments.ts'
export { ERROR_CODES, type ErrorCode, type ErrorKind } from './error-code.ts'
export { GRANT_KINDS, grantsDigest, grantsOf, sortedGrants, type Grant, type GrantKind } from './grants.ts'
export { canonicalJson, holdsLargeInteger, isJsonArray, isJsonObject, jsonPointer } from './json.ts'
export { parsedJson, pointerKeys, valueAt, type JsonObject, type JsonValue } from './json.ts'
export { GlobSet, NO, UNKNOWN, YES } from './matching/glob-set.ts'
export { Needles, START } from './matching/needles.ts'
export { FAILURE_KINDS, strategiesOf, strategyFor } from './on-failure.ts'
export type { FailureKind, FailureStrategy, FallbackTool, OnFailure, RetryStrategy } from './on-failure.ts'
export { parseNameEntry, parseNameFilter, type NameFilter, type NameFilterFault } from './name-filter.ts'
export {
  ARGUMENT_KINDS,
  shownKind,
  shownKinds,
  type ArgumentKind,
  type Reading,
} from './kinds/argument-kind.ts'
export { canonicalArguments, type UnreadArgument } from './kinds/canonical-arguments.ts'
export { normalisedPath } from './kinds/path-text.ts'
export { readText } from './kinds/read-text.ts'
export { readingsOfName, ToolReadings, type ReadTool } from './kinds/tool-readings.ts'
export { alwaysDenied } from './rules/always-denied.ts'
export {
  askingDecisions,
  decideBy,
  decideCall,
  matchedRules,
  readingsOfTool,
  rulesAbout,
  undeclaredArguments,
} from './rules/decide-call.ts'
export type { RuledTool, RuleDecision } from './rules/decide-call.ts'
export type { GlobKind } from './rules/glob.ts'
export { grantFindings } from './rules/rule-globs.ts'
export { matchesGlob } from './rules/matches-glob.ts'
export { OWNER_KINDS, parseRuleSet, RULE_EFFECTS } from './rules/rule-set.ts'
export type { GrantRule, OwnedRules, Rule, RuleEffect, RuleFault } from './rules/rule-set.ts'
export type { RuleOwner, RuleSet, ToolRule } from './rules/rule-set.ts'
export { writtenGlob, type WrittenGlob } from './rules/written-glob.ts'
export { classesOf, effectsOf, isToolClass, TOOL_CLASSES, type ToolClass } from './rules/tool-classes.ts'
export { formatScope, formatScopeItem } from './scopes/format-scope.ts'
export { inScope, INTERNAL_GROUP, itemsNaming, scopeTest, type ToolInScope } from './scopes/in-scope.ts'
export { groupScope, parseScope, scopeFaultText, SCOPE_LENGTH_MAX } from './scopes/parse-scope.ts'
export type { Scope, ScopeFault, ScopeItem } from './scopes/parse-scope.ts'
export { parseScopeCommand, type ScopeCommand } from './scopes/scope-command.ts'
export { mapSubschemas, referencedSchema, subschemas, type SchemaPath } from './schema-keywords.ts'
export { completeParameters, LAYERS, listedTool, RUNNER_KINDS } from './tool-definition.ts'
export type {
  FoundNote,
  Layer,
  ListedTool,
  ToolDefinition,
  ToolLimits,
  ToolRunner,
} from './tool-definition.ts'
export { isToolName, readableName, TOOL_NAME_RULE, toolNameFault } from './tool-name.ts'
export { isToolResult, toolFailure, toolResult } from './tool-result.ts'
export type {
  AskedConsent,
  InvocationMeta,
  InvocationResult,
  ResourceUsage,
  ResultContent,
  ToolResult,
} from './tool-result.ts'
export { errorBody, isToolrackError, ToolrackError } from './toolrack-error.ts'
export type { ErrorBody, ErrorDetail } from './toolrack-error.ts'
export type { AnthropicTool } from './vendors/anthropic.ts'
export type { GeminiTool } from './vendors/gemini.ts'
export { mcpResult, type McpResult } from './vendors/mcp.ts'
export { modelProfile, type ModelProfile } from './vendors/model-profiles.ts'
export { CALL_FORMATS, dialectRules, DIALECTS, hasListedShape, writeCall } from './vendors/registry.ts'
export type { CallFormatName, Dialect, DialectTools, ToolOf } from './vendors/registry.ts'
export { composeWrap, SYSTEM_LAYER, TOOLS_PRIORITY, WRAP_LAYERS } from './wrap/compose-wrap.ts'
export type {
  BilledLayer,
  FittedTools,
  LayerOutcome,
  Wrap,
  WrapBill,
  WrapLayer,
} from './wrap/compose-wrap.ts'
export { guideText, type GuidedTool } from './wrap/guide-text.ts'
export { firstSentence } from './wrap/sentences.ts'
