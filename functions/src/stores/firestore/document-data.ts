import type { JsonObject, JsonValue } from '@toolrack/contract'
import type { CollectionReference, DocumentReference, Firestore } from 'firebase-admin/firestore'
import { EVERYBODY, type Collection, type Ref } from '../../documents/collection.ts'
import { stored, type StoredDocument } from '../../documents/stored-document.ts'
import { documentJson } from './foreign-documents.ts'

export type Data = Readonly<Record<string, unknown>>

/** The fields that are read of a document with a JSON text, if its body and its earlier versions are not needed. */
export const HEAD_FIELDS = ['text', 'version', 'expiresAt']

/** True for a collection whose documents are stored field by field, and not as a JSON text, because other programs read them. */
export function isPlain({ firestore }: Collection): boolean {
  return firestore?.read !== undefined
}

/** Where a document is, below its owner, as the segments of a path. By default it is at `tools/{name}/kept/{key}`. */
export function segmentsOf(owner: string, { of, key }: Ref): readonly string[] {
  const place = of.firestore?.path(key) ?? ['tools', of.name, 'kept', key]
  return owner === EVERYBODY ? place : ['users', owner, ...place]
}

/** The document at a path. The path is built segment by segment, so that no id can lead to another document. */
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
 * The document in the stored data. Throws if the data has no text, because a damaged document must not look like a missing one.
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

/** The fields with which a document is written to Firestore. Undefined values are left out. */
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
