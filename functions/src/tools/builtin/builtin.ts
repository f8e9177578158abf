import type { JsonObject } from '@toolrack/contract'

/** What a built-in tool may use of the service. */
export type BuiltinContext = {
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** A tool that the service runs itself. The arguments fit its definition's schema; what it returns becomes the result. */
export type Builtin = (args: JsonObject, context: BuiltinContext) => unknown
