import type { JsonObject, JsonValue, SchemaPath } from '@toolrack/contract'
import { isJsonObject, jsonPointer, subschemas } from '@toolrack/contract'
import { faultAt, type JsonFault } from '../json/json-fault.ts'
import { patternFault } from './re2-pattern.ts'

/** A keyword that stays in the schema for the model and that the service does not enforce, and why. */
export type Unenforced = { readonly pointer: string; readonly reason: string }

export type CompileReport = {
  readonly faults: readonly JsonFault[]
  readonly unenforced: readonly Unenforced[]
}

type Mutable = { [key: string]: JsonValue }

/** A keyword below which a schema without its pattern admits more, and the keywords that then refuse more. */
const REFUSING: readonly (readonly [string, readonly string[]])[] = [
  ['not', ['not']],
  ['oneOf', ['oneOf']],
  ['if', ['if', 'then', 'else']],
  ['contains', ['maxContains']],
]

/**
 * The schema without every pattern that RE2 cannot run; the stored definition keeps the author's own. With an entry of
 * `patternProperties` it loses the `additionalProperties` beside it and every `unevaluatedProperties`, because they would
 * refuse the very names that the pattern allows. A schema without its pattern admits more, so a keyword that refuses where
 * such a schema admits is removed as a whole.
 */
export function enforceableSchema(root: JsonObject): CompileReport & { readonly schema: JsonObject } {
  const copy = structuredClone<Mutable>(root)
  const unenforced: Unenforced[] = []
  const faults: JsonFault[] = []

  function isEnforced(pattern: string, path: SchemaPath): boolean {
    const fault = patternFault(pattern)
    if (fault?.kind === 'invalid') faults.push(faultAt(path, fault.message))
    if (fault?.kind === 'unenforced') unenforced.push({ pointer: jsonPointer(path), reason: fault.message })
    return fault === undefined
  }

  function drop(schema: Mutable, keyword: string, path: SchemaPath): boolean {
    if (schema[keyword] === undefined) return false
    delete schema[keyword]
    const pointer = jsonPointer([...path, keyword])
    unenforced.push({ pointer, reason: 'it depends on a pattern that is not enforced' })
    return true
  }

  /** Calls `change` for the schemas below this one, each before those around it. True if one of the calls is. */
  function anyBelow(schema: Mutable, path: SchemaPath, change: typeof dropPatterns): boolean {
    const changed = subschemas(schema).map((child) => change(child.schema, [...path, ...child.path]))
    return changed.includes(true)
  }

  function dropPatterns(schema: Mutable, path: SchemaPath): boolean {
    const hasLost = anyBelow(schema, path, dropPatterns)
    // Ajv reads OpenAPI's `nullable` and refuses it without `type`, where OpenAPI gives it no meaning.
    if (schema['type'] === undefined) delete schema['nullable']
    // No keyword of JSON Schema: Ajv would make a validator that returns a promise, which is always true.
    delete schema['$async']
    const { pattern, patternProperties } = schema
    if (typeof pattern === 'string' && !isEnforced(pattern, [...path, 'pattern'])) delete schema['pattern']
    if (!isJsonObject(patternProperties)) return hasLost
    const entries = Object.entries(patternProperties)
    const kept = entries.filter(([key]) => isEnforced(key, [...path, 'patternProperties', key]))
    schema['patternProperties'] = Object.fromEntries(kept)
    if (kept.length === entries.length) return hasLost
    drop(schema, 'additionalProperties', path)
    return true
  }

  /** Removes the keywords of REFUSING that are about a schema which has lost a pattern, or may refer to one. */
  function dropRefusing(schema: Mutable, path: SchemaPath): boolean {
    let hasDropped = anyBelow(schema, path, dropRefusing)
    for (const [admitting, refusing] of REFUSING) {
      const below = schema[admitting]
      if (below === undefined) continue
      const start = `${jsonPointer([...path, admitting])}/`
      if (!hasRef(below) && !unenforced.some(({ pointer }) => pointer.startsWith(start))) continue
      for (const keyword of refusing) if (drop(schema, keyword, path)) hasDropped = true
    }
    return hasDropped
  }

  /** Removes the keywords from every schema, because it is no longer known which values other schemas have evaluated. */
  function dropUnevaluated(...keywords: readonly string[]): void {
    function visit(schema: Mutable, path: SchemaPath): boolean {
      anyBelow(schema, path, visit)
      for (const keyword of keywords) drop(schema, keyword, path)
      return false
    }
    visit(copy, [])
  }

  if (dropPatterns(copy, [])) dropUnevaluated('unevaluatedProperties')
  if (unenforced.length > 0 && dropRefusing(copy, []))
    dropUnevaluated('unevaluatedProperties', 'unevaluatedItems')
  return { schema: copy, unenforced, faults }
}

/** The schema that a reference leads to may have lost a pattern too. */
function hasRef(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false
  return '$ref' in value || Object.values(value).some((child: JsonValue) => hasRef(child))
}
