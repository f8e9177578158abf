/** The client of a Toolrack service. No Node built-in, no dependency: it runs wherever there is `fetch`. */
export type {
  Dialect,
  DialectTools,
  JsonObject,
  JsonValue,
  Layer,
  ListedTool,
  ToolDefinition,
  ToolResult,
} from '@toolrack/contract'
export type { ChatModel } from './chat-model.ts'
export type { GeminiTool, ToolOf } from './dialect.ts'
export { invokerRunner } from './invoker-runner.ts'
export type { InvokerRunnerOptions, WorkflowEndpoint, WorkflowInput } from './invoker-runner.ts'
export type { ListOptions } from './list-query.ts'
export { runTools } from './run-tools.ts'
export type { RanTools, RunToolsOptions } from './run-tools.ts'
export type { Runner, RunnerContext } from './runner.ts'
export type { ServiceOptions } from './service.ts'
export type { LossCode } from './service-loss.ts'
export { STANDARD_DEFINITIONS } from './standard-definitions.ts'
export type { Token } from './token.ts'
export { ToolDefs } from './tool-defs.ts'
export type { ToolDefsOptions } from './tool-defs.ts'
export { ToolDispatcher } from './tool-dispatcher.ts'
export type { Dispatched, ToolDispatcherOptions } from './tool-dispatcher.ts'
export type { FallbackReason, LayerState, ToolList } from './tool-list.ts'
export { ToolsError } from './tools-error.ts'
export type { ToolsErrorCode } from './tools-error.ts'
