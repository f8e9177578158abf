import type { ErrorCode, JsonObject } from '@toolrack/contract'
import type { PackageLock } from './package-lock.ts'

/**
 * The runner's report on a module. The runner has read the module, imported it in the jail, and run its examples there. The
 * report has the shape of `python-runner/toolrack_runner/wire/check_report.schema.json`.
 */
export type CheckReport = {
  /** Faults of the whole module. A module with such a fault has no tools. */
  readonly faults: readonly ModuleFault[]
  readonly notes: readonly ModuleNote[]
  readonly imports: readonly string[]
  /** The packages that the module needs and that are not installed in the runner. */
  readonly missingImports: readonly string[]
  /** All specs, in the order of TOOL_SPECS. */
  readonly tools: readonly CheckedSpec[]
  readonly log: { readonly text: string }
  /** The packages that the module asks for in its head, as they are locked. Missing if it asks for none. */
  readonly packages?: PackageLock | undefined
}

export type CheckedSpec =
  AcceptedSpec | (SpecFacts & { readonly accepted: false; readonly name: string | null })

export type AcceptedSpec = SpecFacts & {
  readonly accepted: true
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
  /** Which of the fields `description` and `parameters` the runner has derived from the handler, because the spec lacks them. */
  readonly derived: readonly string[]
  readonly annotations: JsonObject | null
  readonly timeoutSeconds: number | null
  /** `callsPerMinute` and `concurrent`. Null if the spec has none, missing in the report of an older runner. */
  readonly limits?: JsonObject | null | undefined
  /** The names of secrets. `caller:NAME` is the secret NAME of the user who makes the call. */
  readonly secrets: readonly string[]
  readonly network: readonly string[]
  /** How many calls one process may serve. Null if the spec does not say it, missing in the report of an older runner. */
  readonly reuse?: number | null | undefined
  /** What is done after a failure of the tool. It is not checked yet. Missing in the report of an older runner. */
  readonly onFailure?: JsonObject | null | undefined
  /**
   * How the handler may read the text of each argument, for example as a `path`. An argument is left out if the handler gets its
   * text unchanged. The whole field is missing in the report of an older runner.
   */
  readonly kinds?: Readonly<Record<string, readonly string[]>> | undefined
}

type SpecFacts = {
  readonly line: number | null
  /** The file that contains `line`, such as `weather/helpers.py`. Missing if the module has one file. */
  readonly file?: string | undefined
  readonly faults: readonly ModuleFault[]
  readonly notes: readonly ModuleNote[]
  /** The result of each example call of the spec, as the runner reports it. */
  readonly examples: readonly JsonObject[]
}

/** A remark about a module. It is not a fault. */
export type ModuleNote = { readonly kind: string; readonly message: string; readonly line?: number }

/** One fault of a module or a spec. The message names the file, the line and the remedy. */
export type ModuleFault = ModuleNote & {
  readonly code: ErrorCode
  /** The lines of the module in the traceback of the fault. */
  readonly traceback?: string
  /** A JSON Pointer to the place in the spec. Only a fault that the service found has it, not a fault that the runner found. */
  readonly pointer?: string
}
