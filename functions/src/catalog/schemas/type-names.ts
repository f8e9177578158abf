import { jsonPointer, subschemas, type JsonObject, type JsonValue, type SchemaPath } from '@toolrack/contract'

/** One type name that was replaced. `to` is null if the name means "anything" and the keyword `type` was removed. */
export type TypeChange = { readonly pointer: string; readonly from: string; readonly to: string | null }

type Mutable = { [key: string]: JsonValue }

/** The names of Python and Gemini for each type of JSON Schema. The names beside `null` (not `'null'`) mean "anything". */
const FOREIGN: readonly (readonly [string | null, string])[] = [
  ['object', 'dict Dict OBJECT'],
  ['number', 'float double NUMBER'],
  ['integer', 'int long INTEGER'],
  ['string', 'str STRING'],
  ['boolean', 'bool BOOLEAN'],
  ['array', 'list List tuple Tuple set ARRAY'],
  ['null', 'None NoneType NULL'],
  [null, 'any Any TYPE_UNSPECIFIED'],
]
const TYPE_NAMES = new Map(
  FOREIGN.flatMap(([to, names]) => names.split(' ').map((from) => [from, to] as const)),
)

/** Replaces foreign type names wherever `type` is a keyword. A property that is called `type` does not change. */
export function normaliseTypeNames(root: JsonObject): { schema: JsonObject; changes: readonly TypeChange[] } {
  const schema = structuredClone<Mutable>(root)
  const changes: TypeChange[] = []

  function visit(node: Mutable, path: SchemaPath): void {
    for (const child of subschemas(node)) visit(child.schema, [...path, ...child.path])
    const { type } = node
    const at = [...path, 'type']
    if (typeof type !== 'string' && !Array.isArray(type)) return
    const read = typeof type === 'string' ? translate(type, at) : listOf(type as JsonValue[], at)
    if (read === null) delete node['type']
    else node['type'] = read
  }

  function listOf(types: readonly JsonValue[], path: SchemaPath): JsonValue {
    const names = types.map((name, index) =>
      typeof name === 'string' ? translate(name, [...path, index]) : name,
    )
    return names.includes(null) ? null : names
  }

  function translate(name: string, path: SchemaPath): string | null {
    const to = TYPE_NAMES.get(name)
    if (to === undefined) return name
    changes.push({ pointer: jsonPointer(path), from: name, to })
    return to
  }

  visit(schema, [])
  return { schema, changes }
}
