import type { ErrorCode, JsonObject } from '@toolrack/contract'

/**
 * The report of a runner on a module: it reads the module, imports it in the jail and runs its examples there. This is the
 * shape in which the runner sends it (`python-runner/toolrack_runner/module/check_report.schema.json`).
 */
export type CheckReport = {
  /** Faults of the module as a whole. With one of these it has no tools. */
  readonly faults: readonly ModuleFault[]
  readonly notes: readonly ModuleNote[]
  readonly imports: readonly string[]
  /** The packages that it needs and that the runner has not installed. */
  readonly missingImports: readonly string[]
  /** Every spec, in the order of TOOL_SPECS. */
  readonly tools: readonly CheckedSpec[]
  readonly log: { readonly text: string }
}

export type CheckedSpec = AcceptedSpec | RefusedSpec

export type AcceptedSpec = SpecFacts & {
  readonly accepted: true
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
  /** `description` or `parameters`, if the handler gave it. */
  readonly derived: readonly string[]
  readonly annotations: JsonObject | null
  readonly timeoutSeconds: number | null
  readonly secrets: readonly string[]
  readonly network: readonly string[]
}

export type RefusedSpec = SpecFacts & { readonly accepted: false; readonly name: string | null }

type SpecFacts = {
  readonly line: number | null
  readonly faults: readonly ModuleFault[]
  readonly notes: readonly ModuleNote[]
  /** The result of each example, in the runner's words. */
  readonly examples: readonly JsonObject[]
}

/** One thing worth knowing about a module that works. */
export type ModuleNote = { readonly kind: string; readonly message: string; readonly line?: number }

/** One thing that is wrong with a module or a spec. The message names the file, the line and the cure. */
export type ModuleFault = ModuleNote & {
  readonly code: ErrorCode
  /** The lines of the module that led to it. */
  readonly traceback?: string
  /** Into the spec, if the service found the fault and not the runner. */
  readonly pointer?: string
}
