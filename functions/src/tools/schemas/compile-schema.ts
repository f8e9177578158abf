import type { JsonObject } from '@toolrack/contract'
import type { Ajv, ErrorObject } from 'ajv'
import { enforceableSchema } from './enforceable-schema.ts'
import { expandedWeight } from './expanded-weight.ts'
import { anonymous, DIALECT_RULE, dialectOf, newAjv, newCompiler } from './schema-dialect.ts'
import type { Dialect } from './schema-dialect.ts'
import type { SchemaFault, Unenforced } from './schema-fault.ts'

export type CompileReport = {
  readonly faults: readonly SchemaFault[]
  readonly unenforced: readonly Unenforced[]
}

/** Ajv keeps what it has compiled; a new instance after so many values of schemas keeps the process small. */
const WEIGHT_PER_COMPILER = 2_000
const FAULTS_MAX = 10

/** Compiles schemas one after the other and forgets them. Runs in the schema worker: it may take long, or never end, or fill the memory. */
export function createSchemaCompiler(): (schema: JsonObject) => CompileReport {
  const metaValidators = new Map<Dialect, Ajv>()
  const compilers = new Map<Dialect, { readonly ajv: Ajv; weight: number }>()

  function metaValidatorFor(dialect: Dialect): Ajv {
    const ajv = metaValidators.get(dialect) ?? newAjv(dialect)
    metaValidators.set(dialect, ajv)
    return ajv
  }

  function compilerFor(dialect: Dialect, schema: JsonObject): Ajv {
    const known = compilers.get(dialect)
    const compiler =
      known && known.weight < WEIGHT_PER_COMPILER
        ? known
        : { ajv: newCompiler(dialect, { allErrors: true }), weight: 0 }
    const expanded = expandedWeight(schema)
    compiler.weight += 'weight' in expanded ? expanded.weight : WEIGHT_PER_COMPILER
    compilers.set(dialect, compiler)
    return compiler.ajv
  }

  return function compileSchema(root) {
    const dialect = dialectOf(root)
    if (!dialect) return { faults: [{ pointer: '/$schema', message: DIALECT_RULE }], unenforced: [] }
    const ajv = metaValidatorFor(dialect)
    const nameless = anonymous(root)
    if (ajv.validateSchema(nameless) !== true) return { faults: metaFaults(ajv.errors ?? []), unenforced: [] }
    const { schema, faults, unenforced } = enforceableSchema(nameless)
    if (faults.length > 0) return { faults, unenforced }
    try {
      compilerFor(dialect, schema).compile(schema)
      return { faults: [], unenforced }
    } catch (error) {
      return {
        faults: [{ pointer: '', message: `the schema does not compile: ${(error as Error).message}` }],
        unenforced,
      }
    }
  }
}

/** What the meta-schema found, one sentence per place. */
function metaFaults(errors: readonly ErrorObject[]): SchemaFault[] {
  const byPointer = new Map<string, Set<string>>()
  for (const error of errors) {
    if (error.keyword === 'anyOf' || error.keyword === '$dynamicRef' || error.keyword === 'if') continue
    const allowed: unknown = error.params['allowedValues']
    const values = Array.isArray(allowed) ? ` (${allowed.join(', ')})` : ''
    const said = byPointer.get(error.instancePath) ?? new Set()
    byPointer.set(error.instancePath, said.add(`${error.message?.replace(',', ' or ')}${values}`))
  }
  const faults = [...byPointer].map(([pointer, said]) => ({
    pointer,
    message: withCure(pointer, [...said].join('; or ')),
  }))
  const found = faults.length > 0 ? faults : [{ pointer: '', message: 'the schema is not valid JSON Schema' }]
  return found.slice(0, FAULTS_MAX)
}

function withCure(pointer: string, message: string): string {
  if (pointer.endsWith('/items'))
    return `${message}; for a tuple write prefixItems, or name draft-07 in $schema`
  if (/\/exclusiveM(in|ax)imum$/.test(pointer))
    return `${message}; write the number itself, not true beside minimum`
  if (pointer.endsWith('/required')) return `${message}; required is a list of names beside properties`
  return message
}
