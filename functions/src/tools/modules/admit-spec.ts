import type { ErrorCode, JsonObject } from '@toolrack/contract'
import { admitDefinition } from '../definitions/admit-definition.ts'
import type { AdmittedDefinition } from '../definitions/admit-definition.ts'
import type { DefinitionFault } from '../definitions/definition-fault.ts'
import type { SchemaCompiler } from '../schemas/schema-compilers.ts'
import type { CheckedSpec, ModuleFault, SpecContent } from './checked-module.ts'

/** A spec that the runner has checked, and the definition that it becomes; without one it is refused. */
export type AdmittedSpec = {
  readonly spec: CheckedSpec
  readonly admitted?: AdmittedDefinition
  readonly faults: readonly ModuleFault[]
}

export type ModuleIdentity = { readonly name: string; readonly sha256: string }

/** A spec becomes a definition by the same admission as any other definition. */
export async function admitSpec(
  spec: CheckedSpec,
  module: ModuleIdentity,
  compiler: SchemaCompiler,
): Promise<AdmittedSpec> {
  const { name, content, faults } = spec
  if (name === null || !content) return { spec, faults }
  const admission = await admitDefinition(definitionOf(name, content, module), compiler)
  if (!('faults' in admission)) return { spec, admitted: inSpec(admission), faults: [] }
  return { spec, faults: admission.faults.map((fault) => moduleFault(fault, spec, module.name)) }
}

/** The runner's sha256 makes the source a part of the digest: another source is another tool. */
function definitionOf(name: string, content: SpecContent, module: ModuleIdentity): JsonObject {
  const { description, parameters, annotations, timeoutSeconds, network } = content
  return {
    type: 'function',
    function: { name, description, parameters },
    runner: {
      kind: 'python',
      module: module.name,
      sha256: module.sha256,
      ...(network.length > 0 && { network }),
    },
    category: module.name,
    ...(annotations && { annotations }),
    ...(timeoutSeconds !== undefined && { limits: { timeoutSeconds } }),
  }
}

/** Its author knows the spec, not the definition: pointers lead into what they wrote. */
function inSpec(admission: AdmittedDefinition): AdmittedDefinition {
  return {
    ...admission,
    normalised: admission.normalised.map((each) => ({ ...each, pointer: specPointer(each.pointer) })),
    unenforced: admission.unenforced.map((each) => ({ ...each, pointer: specPointer(each.pointer) })),
  }
}

function specPointer(pointer: string): string {
  return pointer.replace(/^\/(?:function|limits)(?=\/)/, '')
}

function moduleFault(
  { reason, pointer, message }: DefinitionFault,
  spec: CheckedSpec,
  module: string,
): ModuleFault {
  const at = specPointer(pointer)
  const line = spec.line ?? undefined
  const place = line === undefined ? `${module}.py` : `${module}.py, line ${line}`
  return {
    code: reason,
    kind: kindOf(reason, at),
    message: `${place}: '${spec.name}': ${at} ${message}`,
    ...(line !== undefined && { line }),
    pointer: at,
  }
}

/** The kinds are those of docs/modules.md. */
function kindOf(reason: ErrorCode, pointer: string): string {
  if (reason === 'NAME_INVALID') return 'name_invalid'
  if (pointer.startsWith('/parameters')) return 'parameters_invalid'
  return pointer === '/description' ? 'description_invalid' : 'field_invalid'
}
