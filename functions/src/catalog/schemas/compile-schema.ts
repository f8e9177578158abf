import type { JsonObject } from '@toolrack/contract'
import type { Ajv, ErrorObject } from 'ajv'
import { faultAt, type JsonFault } from '../../json/json-fault.ts'
import { enforceableSchema, type CompileReport } from './enforceable-schema.ts'
import { expandedWeight } from './expanded-weight.ts'
import { anonymous, DRAFT_RULE, draftOf, newAjv, newCompiler, type Draft } from './schema-draft.ts'

/**
 * How many JSON values of schemas one Ajv instance compiles before it is replaced. An instance keeps all schemas that it has
 * compiled.
 */
const WEIGHT_PER_COMPILER = 2_000
/** The most faults of a schema that an answer names, so that it stays small. */
const FAULTS_MAX = 10

/**
 * Compiles schemas one after the other and keeps none. A compilation may take minutes, never end, or fill the memory, so this
 * function runs in the schema worker.
 */
export function createCompileSchema(): (schema: JsonObject) => CompileReport {
  const metaValidators = new Map<Draft, Ajv>()
  const compilers = new Map<Draft, { readonly ajv: Ajv; weight: number }>()

  function metaFaults(draft: Draft, schema: JsonObject): JsonFault[] {
    const ajv = metaValidators.get(draft) ?? newAjv(draft)
    metaValidators.set(draft, ajv)
    return ajv.validateSchema(schema) === true ? [] : faultsOf(ajv.errors ?? [])
  }

  function compilerFor(draft: Draft, schema: JsonObject): Ajv {
    const known = compilers.get(draft)
    const isUsable = known !== undefined && known.weight < WEIGHT_PER_COMPILER
    const compiler = isUsable ? known : { ajv: newCompiler(draft, { allErrors: true }), weight: 0 }
    compiler.weight += expandedWeight(schema).weight
    compilers.set(draft, compiler)
    return compiler.ajv
  }

  return function compileSchema(root) {
    const draft = draftOf(root)
    if (!draft) return { faults: [faultAt(['$schema'], DRAFT_RULE)], unenforced: [] }
    const nameless = anonymous(root)
    const notSchema = metaFaults(draft, nameless)
    if (notSchema.length > 0) return { faults: notSchema, unenforced: [] }
    const { schema, faults, unenforced } = enforceableSchema(nameless)
    if (faults.length > 0) return { faults, unenforced }
    try {
      compilerFor(draft, schema).compile(schema)
      return { faults: [], unenforced }
    } catch (error) {
      return { faults: [faultAt([], `the schema does not compile: ${(error as Error).message}`)], unenforced }
    }
  }
}

function faultsOf(errors: readonly ErrorObject[]): JsonFault[] {
  const byPointer = new Map<string, Set<string>>()
  for (const { keyword, instancePath, message, params } of errors) {
    if (keyword === 'anyOf' || keyword === '$dynamicRef' || keyword === 'if') continue
    const allowed: unknown = params['allowedValues']
    const values = Array.isArray(allowed) ? ` (${allowed.join(', ')})` : ''
    const said = byPointer.get(instancePath) ?? new Set()
    byPointer.set(instancePath, said.add(`${message?.replace(',', ' or ')}${values}`))
  }
  if (byPointer.size === 0) return [faultAt([], 'the schema is not valid JSON Schema')]
  const faults = [...byPointer].slice(0, FAULTS_MAX)
  return faults.map(([pointer, said]) => ({ pointer, message: [...said].join('; or ') + cureAt(pointer) }))
}

function cureAt(pointer: string): string {
  if (pointer.endsWith('/items')) return '; for a tuple write prefixItems, or name draft-07 in $schema'
  if (/\/exclusiveM(in|ax)imum$/.test(pointer)) return '; write the number itself, not true beside minimum'
  return pointer.endsWith('/required') ? '; required is a list of names beside properties' : ''
}
