import type { DocumentData } from 'firebase-admin/firestore'

/** A document as REST sends it. Each value names its kind. */
export type RestDocument = {
  readonly name: string
  readonly fields?: RestFields
  readonly updateTime: string
}
type RestFields = { readonly [field: string]: RestValue }

/** A value as REST sends it. It has one of these keys, or the key of a kind that JSON cannot represent. */
type RestValue = {
  readonly [kind: string]: unknown
  readonly stringValue?: string
  readonly booleanValue?: boolean
  readonly nullValue?: null
  /** An integer as a text, because it can have 64 bits. */
  readonly integerValue?: string
  /** A number, or one of the texts "NaN", "Infinity" and "-Infinity". */
  readonly doubleValue?: number | string
  readonly timestampValue?: string
  readonly arrayValue?: { readonly values?: readonly RestValue[] }
  readonly mapValue?: { readonly fields?: RestFields }
}

/** A value that JSON cannot represent. Only its kind is kept. */
export class ValueWithoutJson {
  readonly kind: string

  constructor(kind: string) {
    this.kind = kind
  }
}

/** A time. It has only the method that the service needs. */
export class RestTime extends ValueWithoutJson {
  readonly #text: string

  constructor(text: string) {
    super('Timestamp')
    this.#text = text
  }

  /** Milliseconds since 1970. */
  toMillis(): number {
    return Date.parse(this.#text)
  }
}

/**
 * The names of the client's classes for kinds of values, so that a fault has the same text whether the client or REST has read
 * the value.
 */
const KINDS: { readonly [key: string]: string } = {
  geoPointValue: 'GeoPoint',
  bytesValue: 'Buffer',
  referenceValue: 'DocumentReference',
}

/** The fields of a document. The values are the same as from the client, except those that JSON cannot represent. */
export function restData(fields: RestFields = {}): DocumentData {
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]): [string, unknown] => [field, dataOf(value)]),
  )
}

function dataOf(value: RestValue): unknown {
  const { stringValue, booleanValue, integerValue, doubleValue, timestampValue, arrayValue, mapValue } = value
  if (stringValue !== undefined) return stringValue
  if (booleanValue !== undefined) return booleanValue
  if (integerValue !== undefined) return Number(integerValue)
  if (doubleValue !== undefined) return Number(doubleValue)
  if (timestampValue !== undefined) return new RestTime(timestampValue)
  if (arrayValue) return (arrayValue.values ?? []).map(dataOf)
  if (mapValue) return isVector(mapValue) ? new ValueWithoutJson('VectorValue') : restData(mapValue.fields)
  if ('nullValue' in value) return null
  const [kind = 'value without a kind'] = Object.keys(value)
  return new ValueWithoutJson(KINDS[kind] ?? kind)
}

/** True for a vector. Firestore stores it as a map with a field name that no other map can have. */
function isVector({ fields }: NonNullable<RestValue['mapValue']>): boolean {
  return fields?.['__type__']?.stringValue === '__vector__'
}
