import type { Layer } from '@toolrack/contract'
import type { Catalog } from '../catalog/catalog.ts'
import type { Log } from '../log.ts'
import type { ArgumentChecker } from '../schemas/argument-checker.ts'
import type { InvocationLogs } from './invocation-logs.ts'
import type { Runner } from './runner.ts'

/** The source of a module that a layer's definition names; a user's layer is that of the uid. Undefined when it is gone. */
export type SourceOf = (
  owner: { readonly layer: Layer; readonly uid: string },
  sha256: string,
) => Promise<string | undefined>

/** What calls are made with. */
export type InvokeParts = {
  readonly catalog: Catalog
  readonly checker: ArgumentChecker
  readonly runner: Runner
  readonly sourceOf: SourceOf
  readonly logs: InvocationLogs
  readonly log: Log
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** How long the platform lets a call last. */
  readonly deadlineMsMax: number
}
