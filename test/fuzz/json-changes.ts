import type { JsonValue } from '@toolrack/contract'
import fc from 'fast-check'

/** One change of a JSON value: which of its places, and what is done there. */
export type JsonChange = { readonly at: number; readonly kind: ChangeKind; readonly value: JsonValue }

const KINDS = ['put', 'remove', 'add', 'twice', 'wrap', 'rename', 'many'] as const
type ChangeKind = (typeof KINDS)[number]

/** Changes that put one of these values, or hang it in. */
export function jsonChanges(
  values: fc.Arbitrary<JsonValue>,
  maxLength = 4,
): fc.Arbitrary<readonly JsonChange[]> {
  const change = fc.record({ at: fc.nat(10_000), kind: fc.constantFrom(...KINDS), value: values })
  return fc.array(change, { maxLength })
}

/** The value with the changes made one after the other. */
export function changedJson(value: JsonValue, changes: readonly JsonChange[]): JsonValue {
  return changes.reduce((changed, change) => changeAt(changed, change), value)
}

function changeAt(root: JsonValue, change: JsonChange): JsonValue {
  let left = change.at % placesIn(root)
  return visit(root)

  function visit(value: JsonValue): JsonValue {
    if (left === 0) {
      left -= 1
      return changed(value, change)
    }
    left -= 1
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return (value as readonly JsonValue[]).map(visit)
    return fromEntries(Object.entries<JsonValue>(value).map(([key, below]) => [key, visit(below)]))
  }
}

function placesIn(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values<JsonValue>(value).reduce<number>((sum, below) => sum + placesIn(below), 1)
}

function changed(value: JsonValue, { at, kind, value: other }: JsonChange): JsonValue {
  if (kind === 'put') return other
  if (kind === 'wrap') return at % 2 === 0 ? [value] : { a: value }
  if (Array.isArray(value)) return changedList(value as readonly JsonValue[], { at, kind, value: other })
  if (typeof value !== 'object' || value === null) return other
  const entries = Object.entries<JsonValue>(value)
  const index = entries.length === 0 ? 0 : at % entries.length
  const key = typeof other === 'string' ? other : `k${at % 7}`
  if (kind === 'remove') return fromEntries(entries.toSpliced(index, 1))
  if (kind === 'rename')
    return fromEntries(entries.map(([name, below], i) => [i === index ? key : name, below]))
  if (kind === 'many')
    return fromEntries([
      ...entries,
      ...Array.from({ length: at % 300 }, (_, i): [string, JsonValue] => [`m${i}`, other]),
    ])
  return fromEntries([...entries, [key, kind === 'twice' ? (entries[index]?.[1] ?? other) : other]])
}

function changedList(list: readonly JsonValue[], { at, kind, value }: JsonChange): JsonValue {
  const index = list.length === 0 ? 0 : at % list.length
  if (kind === 'remove') return list.toSpliced(index, 1)
  if (kind === 'twice') return [...list, list[index] ?? value]
  if (kind === 'many') return [...list, ...Array.from({ length: at % 300 }, () => list[index] ?? value)]
  return list.toSpliced(index, 0, value)
}

/** Also with the key `__proto__`, which an assignment would take for something else. */
function fromEntries(entries: readonly (readonly [string, JsonValue])[]): JsonValue {
  return Object.fromEntries(entries)
}
