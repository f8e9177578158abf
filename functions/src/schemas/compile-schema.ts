import type { JsonObject } from '@toolrack/contract'
import { Ajv } from 'ajv'
import type { AnySchema, ErrorObject, Options } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { enforceableSchema } from './enforceable-schema.ts'
import { re2Pattern } from './re2-pattern.ts'
import type { SchemaFault, Unenforced } from './schema-fault.ts'

export type CompileReport = {
  readonly faults: readonly SchemaFault[]
  readonly unenforced: readonly Unenforced[]
}

const OPTIONS: Options = {
  strict: false,
  allErrors: true,
  logger: false,
  validateFormats: false,
  addUsedSchema: false,
  code: { regExp: re2Pattern },
}
/** Ajv keeps what it compiled; a new instance after so many schemas keeps the worker small. */
const SCHEMAS_PER_INSTANCE = 500
const FAULTS_MAX = 10

/** Compiles schemas one after the other and forgets them. Runs in the schema worker: it may take long, or never end. */
export function createSchemaCompiler(): (schema: JsonObject) => CompileReport {
  const instances = new Map<string, { ajv: Ajv; compiled: number }>()

  function ajvFor(dialect: Dialect): Ajv {
    const known = instances.get(dialect)
    if (known && known.compiled < SCHEMAS_PER_INSTANCE) {
      known.compiled += 1
      return known.ajv
    }
    const ajv = dialect === 'draft-07' ? new Ajv(OPTIONS) : new Ajv2020(OPTIONS)
    // The name of `$id` in draft-04, which Ajv refuses; in our dialects it says nothing.
    ajv.removeKeyword('id')
    instances.set(dialect, { ajv, compiled: 1 })
    return ajv
  }

  return function compileSchema(root) {
    const dialect = dialectOf(root)
    if (!dialect) return { faults: [{ pointer: '/$schema', message: DIALECT_RULE }], unenforced: [] }
    const ajv = ajvFor(dialect)
    const { $id: _id, $schema: _schema, ...anonymous } = root
    if (ajv.validateSchema(anonymous) !== true)
      return { faults: metaFaults(ajv.errors ?? []), unenforced: [] }
    const { schema, faults, unenforced } = enforceableSchema(anonymous)
    if (faults.length > 0) return { faults, unenforced }
    try {
      ajv.compile(schema as AnySchema)
      return { faults: [], unenforced }
    } catch (error) {
      return {
        faults: [{ pointer: '', message: `the schema does not compile: ${(error as Error).message}` }],
        unenforced,
      }
    }
  }
}

type Dialect = 'draft-07' | '2020-12'
const DIALECT_RULE =
  '$schema must be https://json-schema.org/draft/2020-12/schema (the default) or http://json-schema.org/draft-07/schema#'

function dialectOf(schema: JsonObject): Dialect | undefined {
  const named = schema['$schema']
  if (named === undefined) return '2020-12'
  if (typeof named !== 'string') return undefined
  if (/^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/.test(named)) return '2020-12'
  return /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/.test(named) ? 'draft-07' : undefined
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
