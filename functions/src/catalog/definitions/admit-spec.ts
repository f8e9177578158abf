import type { ErrorCode, JsonObject } from '@toolrack/contract'
import { admitDefinition, type AdmittedDefinition } from './admit-definition.ts'
import type { DefinitionFault } from './definition-fault.ts'
import type { SchemaCompiler } from '../schemas/schema-compilers.ts'
import type { PackageLock } from './package-lock.ts'
import type { AcceptedSpec, CheckedSpec, ModuleFault } from './check-report.ts'

/** A spec from the runner's report, and its definition. If there is no definition, the spec was refused. */
export type AdmittedSpec = {
  readonly spec: CheckedSpec
  readonly admitted?: AdmittedDefinition
  readonly faults: readonly ModuleFault[]
}

/** The name, the sha256 and the packages of a module. */
export type ModuleIdentity = {
  readonly name: string
  readonly sha256: string
  readonly lock?: PackageLock | undefined
}

/** Makes the definition of a spec, and checks it like any other definition. */
export async function admitSpec(
  spec: CheckedSpec,
  module: ModuleIdentity & { readonly file: string },
  compiler: SchemaCompiler,
): Promise<AdmittedSpec> {
  if (!spec.accepted) return { spec, faults: spec.faults }
  const admission = await admitDefinition(definitionOf(spec, module), compiler)
  if (!('faults' in admission)) return { spec, admitted: inSpec(admission), faults: [] }
  return { spec, faults: admission.faults.map((fault) => moduleFault(fault, spec, spec.file ?? module.file)) }
}

/**
 * The most arguments of a tool whose definition keeps the kinds. For a tool with more, no kinds are kept, and rules use the kind
 * `other` for each argument.
 */
const KINDS_MAX = 100

/**
 * Makes the definition of a spec. It contains the sha256 of the source and the digest of the lock, so its digest changes when one
 * of them changes.
 */
function definitionOf(spec: AcceptedSpec, { name: module, sha256, lock }: ModuleIdentity): JsonObject {
  const { name, description, parameters, annotations, secrets, network, reuse, onFailure, kinds } = spec
  const limits = limitsIn(spec)
  const isKept = kinds !== undefined && Object.keys(kinds).length <= KINDS_MAX
  return {
    type: 'function',
    function: { name, description, parameters },
    runner: {
      kind: 'python',
      module,
      sha256,
      ...(network.length > 0 && { network }),
      ...(secrets.length > 0 && { secrets }),
      ...(lock && { packages: lock.requirements, environment: lock.digest }),
      ...(typeof reuse === 'number' && { reuse }),
      ...(isKept && { kinds }),
    },
    category: module,
    ...(annotations && { annotations }),
    ...(limits && { limits }),
    ...(onFailure && { onFailure }),
  }
}

function limitsIn({ timeoutSeconds, limits }: AcceptedSpec): JsonObject | undefined {
  const all = { ...(timeoutSeconds !== null && { timeoutSeconds }), ...limits }
  return Object.keys(all).length > 0 ? all : undefined
}

function inSpec({ normalised, unenforced, ...admission }: AdmittedDefinition): AdmittedDefinition {
  return { ...admission, normalised: normalised.map(atSpec), unenforced: unenforced.map(atSpec) }
}

function atSpec<Note extends { readonly pointer: string }>(note: Note): Note {
  return { ...note, pointer: specPointer(note.pointer) }
}

/**
 * Converts a JSON Pointer to a place in the definition to a pointer to this place in the spec. The author has written only the
 * spec.
 */
function specPointer(pointer: string): string {
  return pointer.replace(/^\/(?:function(?=\/)|limits(?=\/timeoutSeconds))/, '')
}

function moduleFault(fault: DefinitionFault, { name, line }: AcceptedSpec, file: string): ModuleFault {
  const pointer = specPointer(fault.pointer)
  const place = line === null ? file : `${file}, line ${line}`
  return {
    code: fault.reason,
    kind: kindOf(fault.reason, pointer),
    message: `${place}: '${name}': ${pointer} ${fault.message}`,
    ...(line !== null && { line }),
    pointer,
  }
}

/** The kind of a fault that the service found. `docs/reference/module-faults.md` lists the kinds. */
function kindOf(reason: ErrorCode, pointer: string): string {
  if (reason === 'NAME_INVALID') return 'name_invalid'
  if (pointer.startsWith('/parameters')) return 'parameters_invalid'
  return pointer === '/description' ? 'description_invalid' : 'field_invalid'
}
