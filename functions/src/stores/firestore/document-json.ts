import type { JsonObject, JsonValue } from '@toolrack/contract'
import { jsonPointer } from '@toolrack/contract'
import type { DocumentData } from 'firebase-admin/firestore'
import type { JsonFault } from '../../tools/json/json-fault.ts'
import { ValueWithoutJson } from './rest-data.ts'

/** A document's fields as JSON, or what in them has no form in JSON: a time, a place, a reference, bytes, NaN. */
export function documentJson(
  data: DocumentData,
): { readonly json: JsonObject } | { readonly faults: readonly JsonFault[] } {
  const faults: JsonFault[] = []
  const json = objectOf(data, [], faults)
  return faults.length > 0 ? { faults } : { json }
}

function valueOf(value: unknown, path: readonly PropertyKey[], faults: JsonFault[]): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (Array.isArray(value)) return value.map((item, index) => valueOf(item, [...path, index], faults))
  if (isMap(value)) return objectOf(value, path, faults)
  faults.push({ pointer: jsonPointer(path), message: `is ${kindOf(value)}, which has no form in JSON` })
  return null
}

function objectOf(map: DocumentData, path: readonly PropertyKey[], faults: JsonFault[]): JsonObject {
  const entries = Object.entries(map) as [string, unknown][]
  return Object.fromEntries(
    entries.map(([key, value]): [string, JsonValue] => [key, valueOf(value, [...path, key], faults)]),
  )
}

/** Everything that Firestore keeps as something else than a map comes as an object of a class. */
function isMap(value: unknown): value is DocumentData {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

function kindOf(value: unknown): string {
  if (typeof value === 'number') return 'not a finite number'
  return `a ${value instanceof ValueWithoutJson ? value.kind : (value as object).constructor.name}`
}
