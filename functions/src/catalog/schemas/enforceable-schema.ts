import { isJsonObject, jsonPointer, subschemas } from '@toolrack/contract'
import type { JsonObject, JsonValue, SchemaPath } from '@toolrack/contract'
import { faultAt, type JsonFault } from '../../json/json-fault.ts'
import { patternFault } from './re2-pattern.ts'

/** A keyword that calls are not checked against, and the reason. The model still gets the keyword in the schema. */
export type Unenforced = { readonly pointer: string; readonly reason: string }

export type CompileReport = {
  readonly faults: readonly JsonFault[]
  readonly unenforced: readonly Unenforced[]
  /** True if the schema was refused because the compilation took too much time or memory. Another try may have another result. */
  readonly undecided?: true
}

type Mutable = { [key: string]: JsonValue }

/**
 * Pairs of a keyword and the keywords that depend on its schema. If the schema of the first keyword admits more values, the other
 * keywords refuse more values. For example, `not` refuses every value that its schema admits. A schema admits more values after
 * one of its patterns is removed.
 */
const REFUSING: readonly (readonly [string, readonly string[]])[] = [
  ['not', ['not']],
  ['oneOf', ['oneOf']],
  ['if', ['if', 'then', 'else']],
  ['contains', ['maxContains']],
]

/**
 * A copy of the schema without the patterns that RE2 cannot run. The stored definition keeps the author's schema.
 *
 * If an entry of `patternProperties` is removed, the `additionalProperties` beside it and every `unevaluatedProperties` are removed
 * too. They would refuse the names that the pattern allows. A keyword of REFUSING is removed if the schema below it has lost a
 * pattern.
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

  /** Calls `change` for every schema directly below `schema`. True if one of the calls returns true. */
  function anyBelow(schema: Mutable, path: SchemaPath, change: typeof dropPatterns): boolean {
    const changed = subschemas(schema).map((child) => change(child.schema, [...path, ...child.path]))
    return changed.includes(true)
  }

  function dropPatterns(schema: Mutable, path: SchemaPath): boolean {
    const hasLost = anyBelow(schema, path, dropPatterns)
    // Ajv supports OpenAPI's `nullable`, but refuses it without `type`. OpenAPI gives it no meaning in that case.
    if (schema['type'] === undefined) delete schema['nullable']
    // `$async` is not a keyword of JSON Schema. With it Ajv makes a validator that returns a promise, which is always truthy.
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

  /** Removes the keywords of REFUSING if the schema below has lost a pattern, or has a `$ref` whose target may have lost one. */
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

  /**
   * Removes the given keywords from every schema. They refuse values that no other keyword has evaluated. After a pattern is
   * removed, it is not known which values are evaluated.
   */
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

/** True if the value contains a `$ref`. The target of the `$ref` may have lost a pattern. */
function hasRef(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false
  return '$ref' in value || Object.values(value).some((child: JsonValue) => hasRef(child))
}
