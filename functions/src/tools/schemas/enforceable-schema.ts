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
 * and every `unevaluatedProperties` go too: they would refuse exactly the names that the pattern allows. A schema without
 * its pattern admits more, so whatever refuses where another schema admits goes as a whole.
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
  function drop(schema: Mutable, keyword: string, path: Path): boolean {
    if (schema[keyword] === undefined) return false
    delete schema[keyword]
    unenforced.push({
      pointer: jsonPointer([...path, keyword]),
      reason: 'it depends on a pattern that is not enforced',
    })
    return true
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

  /** Whether one of the keywords went that refuse where a schema admits which has lost a pattern, or may refer to one. */
  function dropRefusing(schema: Mutable, path: Path): boolean {
    let hasDropped = false
    for (const child of subschemas(schema)) {
      if (dropRefusing(child.schema, [...path, ...child.path])) hasDropped = true
    }
    for (const [admitting, refusing] of REFUSING) {
      const below = schema[admitting]
      if (below === undefined || !(hasRef(below) || unenforced.some(isBelow([...path, admitting])))) continue
      for (const keyword of refusing) if (drop(schema, keyword, path)) hasDropped = true
    }
    return hasDropped
  }

  /** What the schemas around it have evaluated is no longer known, wherever it stands. */
  function dropUnevaluated(schema: Mutable, path: Path, keywords: readonly string[]): void {
    for (const child of subschemas(schema)) dropUnevaluated(child.schema, [...path, ...child.path], keywords)
    for (const keyword of keywords) drop(schema, keyword, path)
  }

  if (visit(copy, [])) dropUnevaluated(copy, [], ['unevaluatedProperties'])
  if (unenforced.length > 0 && dropRefusing(copy, []))
    dropUnevaluated(copy, [], ['unevaluatedProperties', 'unevaluatedItems'])
  return { schema: copy, unenforced, faults }
}

/** A keyword below which more is admitted without a pattern, and what refuses for that, or is decided by it. */
const REFUSING: readonly (readonly [string, readonly string[]])[] = [
  ['not', ['not']],
  ['oneOf', ['oneOf']],
  ['if', ['if', 'then', 'else']],
  ['contains', ['maxContains']],
]

function isBelow(path: Path): (lost: Unenforced) => boolean {
  const start = `${jsonPointer(path)}/`
  return ({ pointer }) => pointer.startsWith(start)
}

/** Where a reference leads may have lost a pattern too. */
function hasRef(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false
  return '$ref' in value || Object.values(value).some((child: JsonValue) => hasRef(child))
}

type Mutable = { [key: string]: JsonValue }
type Path = readonly (string | number)[]
