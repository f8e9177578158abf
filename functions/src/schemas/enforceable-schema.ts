import type { JsonObject, JsonValue } from '@toolrack/contract'
import { isJsonObject, jsonPointer, subschemas } from '@toolrack/contract'
import { patternFault } from './re2-pattern.ts'
import type { SchemaFault, Unenforced } from './schema-fault.ts'

export type EnforceableSchema = {
  /** The schema without what can't be enforced; the admitted definition keeps the author's own. */
  readonly schema: JsonObject
  readonly unenforced: readonly Unenforced[]
  readonly faults: readonly SchemaFault[]
}

/**
 * Takes out every pattern that RE2 cannot run. Where a `patternProperties` entry goes, `additionalProperties` and
 * `unevaluatedProperties` beside it go too: they would refuse exactly the names that the pattern allows.
 */
export function enforceableSchema(root: JsonObject): EnforceableSchema {
  const copy = structuredClone(root) as Mutable
  const unenforced: Unenforced[] = []
  const faults: SchemaFault[] = []

  function judge(pattern: string, path: Path): boolean {
    const fault = patternFault(pattern)
    if (fault?.kind === 'invalid') faults.push({ pointer: jsonPointer(path), message: fault.message })
    if (fault?.kind === 'unenforced') unenforced.push({ pointer: jsonPointer(path), reason: fault.message })
    return fault === undefined
  }

  function visit(schema: Mutable, path: Path): void {
    for (const child of subschemas(schema)) visit(child.schema as Mutable, [...path, ...child.path])
    // Ajv reads OpenAPI's `nullable` and refuses it without `type`, where OpenAPI gives it no meaning.
    if (schema['type'] === undefined) delete schema['nullable']
    const { pattern, patternProperties } = schema
    if (typeof pattern === 'string' && !judge(pattern, [...path, 'pattern'])) delete schema['pattern']
    if (!isJsonObject(patternProperties)) return
    const refused = Object.keys(patternProperties).filter(
      (key) => !judge(key, [...path, 'patternProperties', key]),
    )
    for (const key of refused) delete (patternProperties as Mutable)[key]
    for (const keyword of refused.length > 0 ? CLOSING : []) {
      if (schema[keyword] === undefined) continue
      delete schema[keyword]
      unenforced.push({
        pointer: jsonPointer([...path, keyword]),
        reason: 'it depends on a pattern that is not enforced',
      })
    }
  }

  visit(copy, [])
  return { schema: copy, unenforced, faults }
}

type Mutable = { [key: string]: JsonValue }
type Path = readonly (string | number)[]
const CLOSING = ['additionalProperties', 'unevaluatedProperties'] as const
