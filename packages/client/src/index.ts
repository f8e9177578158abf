/** The client of a Toolrack service. It needs only `fetch`. It has no dependency and does not need Node. */
export type { Dialect, DialectTools, GeminiTool, JsonObject, JsonValue, Layer } from '@toolrack/contract'
export type {
  AnsweredImage,
  FoundNote,
  ListedTool,
  ReportedResult,
  ResultContent,
  ToolDefinition,
  ToolOf,
  ToolResult,
} from '@toolrack/contract'
export { Artifacts, type Artifact, type ArtifactLink, type ArtifactOptions } from './artifacts.ts'
export { defineTools, type Defined, type DefinedTool, type DefineOptions } from './define-tools.ts'
export type { DefineProgress, RefusedTool } from './define-tools.ts'
export { ToolsError, type CallResult } from './errors.ts'
export type { ServiceErrorCode as LossCode, ToolsErrorCode } from './errors.ts'
export type { CallEvent, CallOptions } from './invoke-at-service.ts'
export type { ListOptions } from './list-query.ts'
export { Grants, type AskingModule, type DecidedModule, type GrantsOptions } from './grants.ts'
export { loadedTools } from './loaded-tools.ts'
export { STANDARD_DEFINITIONS } from './local-list.ts'
export { runTools, type ChatModel, type RanTools, type RunToolsOptions } from './run-tools.ts'
export { invokerRunner, type InvokerRunnerOptions } from './runner.ts'
export type { Runner, RunnerContext, WorkflowEndpoint, WorkflowInput } from './runner.ts'
export { Secrets, type SecretOptions, type StoredSecret } from './secrets.ts'
export { Sessions, type ForkedSession, type LockedSession, type Selection } from './sessions.ts'
export type { AskedSession, Session, SessionOptions } from './sessions.ts'
export type { ServiceOptions } from './service.ts'
export { Statistics, type AskedStatistics, type StatisticsOptions } from './statistics.ts'
export type { ToolsStatistics, ToolStatistics } from './statistics.ts'
export type { Token } from './token.ts'
export { ToolDefs, type ToolDefsOptions, type ToolsChanged, type WatchOptions } from './tool-defs.ts'
export { ToolDispatcher, type ToolDispatcherOptions } from './tool-dispatcher.ts'
export type { InvokeOptions, Reported } from './tool-dispatcher.ts'
export type { Answered, Dispatched, PendingCall } from './model-calls.ts'
export type { DryRun } from './dry-run-at-service.ts'
export type { ApprovalDecision, AskedApproval, OnApproval, WaitingCall } from './wait-for-approval.ts'
export type { FallbackReason, LayerState, ListTokens, ToolList } from './tool-list.ts'
export { ToolWraps, type BuildOptions, type Prompt, type PromptBill } from './tool-wraps.ts'
export type { ToolWrapsOptions, WrapBuilder } from './tool-wraps.ts'
export { estimateTokens, type CountTokens } from './local-wrap.ts'
