import type { JsonObject, JsonValue } from '@toolrack/contract'
import { isJsonObject, jsonPointer, subschemas } from '@toolrack/contract'

/** One type name that was read as another; `to` is null where the name meant "anything" and the keyword went. */
export type TypeChange = { readonly pointer: string; readonly from: string; readonly to: string | null }

/** Python's and Gemini's names for JSON Schema's types. */
const TYPE_NAMES = new Map<string, string | null>([
  ['dict', 'object'],
  ['Dict', 'object'],
  ['float', 'number'],
  ['double', 'number'],
  ['int', 'integer'],
  ['long', 'integer'],
  ['str', 'string'],
  ['bool', 'boolean'],
  ['list', 'array'],
  ['List', 'array'],
  ['tuple', 'array'],
  ['Tuple', 'array'],
  ['set', 'array'],
  ['None', 'null'],
  ['NoneType', 'null'],
  ['any', null],
  ['Any', null],
  ['TYPE_UNSPECIFIED', null],
  ...['OBJECT', 'NUMBER', 'INTEGER', 'STRING', 'BOOLEAN', 'ARRAY', 'NULL'].map((name): [string, string] => [
    name,
    name.toLowerCase(),
  ]),
])

/** Reads foreign type names at every place where `type` is a keyword; a property that is called `type` is left alone. */
export function normaliseTypeNames(root: JsonObject): { schema: JsonObject; changes: readonly TypeChange[] } {
  const schema = structuredClone<Mutable>(root)
  const changes: TypeChange[] = []

  function visit(node: Mutable, path: readonly (string | number)[]): void {
    for (const child of subschemas(node)) visit(child.schema, [...path, ...child.path])
    const type = node['type']
    if (typeof type === 'string') {
      const to = translate(type, [...path, 'type'])
      if (to === null) delete node['type']
      else node['type'] = to
    } else if (Array.isArray(type)) {
      const names = type.map((name: JsonValue, index) =>
        typeof name === 'string' ? translate(name, [...path, 'type', index]) : name,
      )
      if (names.includes(null)) delete node['type']
      else node['type'] = names
    }
  }

  function translate(name: string, path: readonly (string | number)[]): string | null {
    const to = TYPE_NAMES.get(name)
    if (to === undefined) return name
    changes.push({ pointer: jsonPointer(path), from: name, to })
    return to
  }

  if (isJsonObject(schema)) visit(schema, [])
  return { schema, changes }
}

type Mutable = { [key: string]: JsonValue }
