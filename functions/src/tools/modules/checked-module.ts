import type { ErrorCode, JsonObject } from '@toolrack/contract'

/** One thing that is wrong with a module or a spec; the message names file, line and cure. */
export type ModuleFault = {
  readonly code: ErrorCode
  readonly kind: string
  readonly message: string
  readonly line?: number
  /** The lines of the module that led to it. */
  readonly traceback?: string
  /** Into the spec, where the service found it and not the runner. */
  readonly pointer?: string
}

/** One thing worth knowing about a module that works. */
export type ModuleNote = { readonly kind: string; readonly message: string; readonly line?: number }

/** What a spec that the runner accepts defines. */
export type SpecContent = {
  readonly description: string
  readonly parameters: JsonObject
  /** Which of the two came from the handler. */
  readonly derived: readonly string[]
  readonly annotations?: JsonObject
  readonly timeoutSeconds?: number
  readonly secrets: readonly string[]
  readonly network: readonly string[]
}

/** One spec as the runner sees it; without content it is refused, and the faults say why. */
export type CheckedSpec = {
  readonly name: string | null
  readonly line: number | null
  readonly content?: SpecContent
  readonly faults: readonly ModuleFault[]
  readonly notes: readonly ModuleNote[]
  /** What came of each example, as the runner tells it. */
  readonly examples: readonly JsonObject[]
}

/** What a runner has found out about a module: by reading it, by importing it in the jail, and by running its examples there. */
export type CheckedModule = {
  /** Of the module as a whole; with one of these it has no specs. */
  readonly faults: readonly ModuleFault[]
  readonly notes: readonly ModuleNote[]
  readonly imports: readonly string[]
  /** The packages that it needs and the runner has not. */
  readonly missingImports: readonly string[]
  readonly specs: readonly CheckedSpec[]
  /** What it printed. */
  readonly log: string
}
