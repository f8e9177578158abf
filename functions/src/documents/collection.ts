import type { JsonObject, ToolrackError } from '@toolrack/contract'
import type { Test } from '../value-shape.ts'

/** The owner of the documents that belong to everybody. No user can have this id, because a user id is never empty. */
export const EVERYBODY = ''

/** How many documents one owner has in a collection, and how many bytes of them count for the quota. */
export type Sums = { readonly count: number; readonly bytes: number }

/** The limits of what one owner may keep in a collection. */
export type Quota = {
  readonly count?: number
  readonly bytes?: number
  /**
   * Makes the error for a write that would exceed the quota. `sums` are the sums after that write. Without this function no write
   * is refused: earlier versions of the document are dropped instead.
   */
  readonly refuse?: (sums: Sums) => ToolrackError
  /**
   * If set, only the bodies of documents count for the quota. The oldest bodies are deleted to make room, but their documents
   * stay.
   */
  readonly dropsOldest?: {
    /**
     * The most bytes of the bodies of all owners together. If there are more, the oldest bodies of the owner with the most bytes
     * are deleted. Not used with Firestore.
     */
    readonly allBytes: number
  }
}

/** A collection of documents, as the feature that keeps them declares it. Fields are plain JSON. */
export type Collection<Fields extends object = object> = {
  /** Stored with every document, so it must never change. */
  readonly name: string
  readonly owner: 'user' | 'everybody' | 'both'
  /** Tests the fields of a stored document. If the test fails, the read fails. */
  readonly fields: Test<Fields>
  readonly quota?: Quota
  /** The time after which a document counts as deleted, in milliseconds since 1970. Null if it stays. */
  expires?(this: void, fields: Fields): number | null
  /** The bytes of a document that count for the quota. The default are those of its texts, and some for its record. */
  weight?(this: void, fields: Fields): number
  /** True if documents have a body: one large text, which lists do not read. */
  readonly hasBody?: boolean
  /** How many versions of a document are kept, counting the present one. The default is 1. */
  readonly versions?: number
  /** The name of a field, with a text or a number, by which documents can be listed. */
  readonly index?: string
  /** The place in Firestore of documents that existed before this service, or that other programs read. */
  readonly firestore?: OwnPlace<Fields>
  /**
   * How many milliseconds a caller waits for a read, and for a change with all its attempts. The default is that of the store.
   */
  readonly waitMs?: { readonly read: number; readonly change: number }
}

export type OwnPlace<Fields> = {
  /** The path below the owner. */
  path(key: string): readonly string[]
  /**
   * Reads the fields from a document that other programs use too. Times of Firestore come as milliseconds, and values that JSON
   * cannot hold are left out. If the result is undefined, the document counts as missing. Without this function, the document in
   * Firestore has all its fields in one JSON text.
   */
  read?(data: JsonObject, key: string): Fields | undefined
}

/**
 * Names one document of an owner. A key is safe in a path: not empty, without a slash, not `.`, `..` or `__…__`. `keyOf` makes a
 * key of any id.
 */
export type Ref<Fields extends object = object> = { readonly of: Collection<Fields>; readonly key: string }

/** A write that creates or replaces the document, or deletes it if `fields` is undefined. */
export type Write = { readonly to: Ref; readonly fields?: object; readonly body?: string | undefined }

/** What a change returns to its caller, and what it writes. Without writes, nothing is written. */
export type Planned<Result> = { readonly result: Result; readonly writes?: readonly Write[] }

export function put<Fields extends object>(to: Ref<Fields>, fields: Fields, body?: string): Write {
  return { to, fields, body }
}

export function remove(to: Ref): Write {
  return { to }
}

/** A key for an id that any program may have chosen. It is safe as a part of a path. */
export function keyOf({ kind, id }: { readonly kind: string; readonly id: string }): string {
  return `${kind}-${Buffer.from(id).toString('base64url')}`
}
