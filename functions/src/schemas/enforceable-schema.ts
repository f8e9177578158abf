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
 * Takes out every pattern that RE2 cannot run. Where a `patternProperties` entry goes, `additionalProperties` beside it
 * and every `unevaluatedProperties` go too: they would refuse exactly the names that the pattern allows.
 */
export function enforceableSchema(root: JsonObject): EnforceableSchema {
  const copy = structuredClone<Mutable>(root)
  const unenforced: Unenforced[] = []
  const faults: SchemaFault[] = []

  function judge(pattern: string, path: Path): boolean {
    const fault = patternFault(pattern)
    if (fault?.kind === 'invalid') faults.push({ pointer: jsonPointer(path), message: fault.message })
    if (fault?.kind === 'unenforced') unenforced.push({ pointer: jsonPointer(path), reason: fault.message })
    return fault === undefined
  }

  /** Takes a keyword out of the copy; the author hears of it. */
  function drop(schema: Mutable, keyword: string, path: Path): void {
    if (schema[keyword] === undefined) return
    delete schema[keyword]
    unenforced.push({
      pointer: jsonPointer([...path, keyword]),
      reason: 'it depends on a pattern that is not enforced',
    })
  }

  /** Whether a pattern below `patternProperties` went. */
  function visit(schema: Mutable, path: Path): boolean {
    let hasLost = false
    for (const child of subschemas(schema)) {
      if (visit(child.schema, [...path, ...child.path])) hasLost = true
    }
    // Ajv reads OpenAPI's `nullable` and refuses it without `type`, where OpenAPI gives it no meaning.
    if (schema['type'] === undefined) delete schema['nullable']
    // Not JSON Schema but an order to Ajv: its validator would answer a promise, which is always true.
    delete schema['$async']
    const { pattern, patternProperties } = schema
    if (typeof pattern === 'string' && !judge(pattern, [...path, 'pattern'])) delete schema['pattern']
    if (!isJsonObject(patternProperties)) return hasLost
    const kept = Object.entries(patternProperties).filter(([key]) =>
      judge(key, [...path, 'patternProperties', key]),
    )
    const isWhole = kept.length === Object.keys(patternProperties).length
    if (!isWhole) drop(schema, 'additionalProperties', path)
    schema['patternProperties'] = Object.fromEntries(kept)
    return !isWhole || hasLost
  }

  /** What the schemas around it have evaluated is no longer known, wherever it stands. */
  function dropUnevaluated(schema: Mutable, path: Path): void {
    for (const child of subschemas(schema)) dropUnevaluated(child.schema, [...path, ...child.path])
    drop(schema, 'unevaluatedProperties', path)
  }

  if (visit(copy, [])) dropUnevaluated(copy, [])
  return { schema: copy, unenforced, faults }
}

type Mutable = { [key: string]: JsonValue }
type Path = readonly (string | number)[]
