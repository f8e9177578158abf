import type { JsonObject, JsonValue } from '@toolrack/contract'
import type { CollectionReference, DocumentReference, Firestore } from 'firebase-admin/firestore'
import { EVERYBODY, type Collection, type Ref } from '../../documents/collection.ts'
import { stored, type StoredDocument } from '../../documents/stored-document.ts'
import { documentJson } from './foreign-documents.ts'

export type Data = Readonly<Record<string, unknown>>

/** The fields that are read of a document with a JSON text, if neither its body nor its earlier versions are needed. */
export const HEAD_FIELDS = ['text', 'version', 'expiresAt']

/** True if the fields of a collection's documents are stored as separate fields, because other programs read them. */
export function isPlain({ firestore }: Collection): boolean {
  return firestore?.read !== undefined
}

/** The path of a document below its owner. By default it is `tools/{name}/kept/{key}`. */
export function segmentsOf(owner: string, { of, key }: Ref): readonly string[] {
  const place = of.firestore?.path(key) ?? ['tools', of.name, 'kept', key]
  return owner === EVERYBODY ? place : ['users', owner, ...place]
}

/** The path is built segment by segment, so that no id can change which document it names. */
export function documentAt(firestore: Firestore, segments: readonly string[]): DocumentReference {
  const [collection = '', id = '', ...rest] = segments
  let document = firestore.collection(collection).doc(id)
  for (let at = 0; at < rest.length; at += 2)
    document = document.collection(rest[at] ?? '').doc(rest[at + 1] ?? '')
  return document
}

export function collectionOf(firestore: Firestore, owner: string, of: Collection): CollectionReference {
  return documentAt(firestore, segmentsOf(owner, { of, key: 'any' })).parent
}

/**
 * The stored document in the data. Throws if the data has no text, because a caller must not treat a damaged document as missing.
 */
export function storedIn({ of, key }: Ref, data: Data | undefined): StoredDocument | undefined {
  if (!data) return undefined
  if (of.firestore?.read) {
    const fields = of.firestore.read(plainJson(data), key)
    return fields && stored({ to: { of, key }, fields }, undefined)
  }
  const { text, body, past, version, bytes, expiresAt } = data
  if (typeof text !== 'string') throw new Error(`a document of ${of.name} has no text`)
  return {
    text,
    version: typeof version === 'number' ? version : 1,
    body: typeof body === 'string' ? body : undefined,
    past: typeof past === 'string' ? past : undefined,
    bytes: typeof bytes === 'number' ? bytes : 0,
    expiresAtMs: msOf(expiresAt) ?? null,
    place: null,
  }
}

/** The fields of a document in Firestore. Undefined values are left out. */
export function dataOf(of: Collection, fields: object, document: StoredDocument, nowMs: number): Data {
  if (isPlain(of)) return { ...fields }
  const { text, version, body, past, bytes, expiresAtMs, place } = document
  return {
    text,
    body,
    past,
    ...(of.versions !== undefined && { version }),
    ...(of.quota && bytes > 0 && { bytes }),
    ...(of.quota?.dropsOldest && body !== undefined && { bodyAt: new Date(nowMs) }),
    ...(expiresAtMs !== null && { expiresAt: new Date(expiresAtMs) }),
    ...(place !== null && { listedBy: place }),
  }
}

function plainJson(data: Data): JsonObject {
  return Object.fromEntries(
    Object.entries(data).flatMap(([name, value]): [string, JsonValue][] => {
      const read = documentJson({ value: msOf(value) ?? value })
      return 'json' in read ? [[name, read.json['value'] ?? null]] : []
    }),
  )
}

/** A time of Firestore in milliseconds since 1970. */
function msOf(value: unknown): number | undefined {
  if (typeof value !== 'object' || value === null || !('toMillis' in value)) return undefined
  return (value as { toMillis(): number }).toMillis()
}
