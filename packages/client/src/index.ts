/** The client of a Toolrack service. It needs only `fetch`. It has no dependency and does not need Node. */
export type {
  Dialect,
  DialectTools,
  GeminiTool,
  JsonObject,
  JsonValue,
  Layer,
  ListedTool,
  ToolDefinition,
  ToolOf,
  ToolResult,
} from '@toolrack/contract'
export { ToolsError } from './errors.ts'
export type { ServiceErrorCode as LossCode, ToolsErrorCode } from './errors.ts'
export type { ListOptions } from './list-query.ts'
export { STANDARD_DEFINITIONS } from './local-list.ts'
export { runTools } from './run-tools.ts'
export type { ChatModel, RanTools, RunToolsOptions } from './run-tools.ts'
export { invokerRunner } from './runner.ts'
export type {
  InvokerRunnerOptions,
  Runner,
  RunnerContext,
  WorkflowEndpoint,
  WorkflowInput,
} from './runner.ts'
export type { ServiceOptions } from './service.ts'
export type { Token } from './token.ts'
export { ToolDefs } from './tool-defs.ts'
export type { ToolDefsOptions } from './tool-defs.ts'
export { ToolDispatcher } from './tool-dispatcher.ts'
export type { Dispatched, ToolDispatcherOptions } from './tool-dispatcher.ts'
export type { FallbackReason, LayerState, ToolList } from './tool-list.ts'
