import { ToolrackError } from '@toolrack/contract'
import type { Collection, Planned, Ref } from './collection.ts'

/** A document as it was read. Its fields are parsed when they are first needed. */
export class Kept<Fields extends object = object> {
  readonly key: string
  /** The JSON of the fields. Equal for equal states of the document. */
  readonly text: string
  /** The number of the version, from 1. It grows with each write that changes the fields. */
  readonly version: number
  readonly body: string | undefined
  readonly #of: Collection<Fields>
  #fields: Fields | undefined

  constructor(
    { of, key }: Ref<Fields>,
    {
      text,
      version,
      body,
    }: { readonly text: string; readonly version: number; readonly body?: string | undefined },
  ) {
    this.#of = of
    this.key = key
    this.text = text
    this.version = version
    this.body = body
  }

  /** Throws STORE_FAILED if the fields do not pass the test of the collection. */
  get fields(): Fields {
    return (this.#fields ??= fieldsIn(this.#of, this.text))
  }
}

export type Version<Fields extends object> = { readonly version: number; readonly fields: Fields }

/**
 * A list is in the order of the keys, or with `order` in the order of the collection's index. With `equal`, it has only documents
 * whose index has this value.
 */
export type ListOptions = {
  readonly limit: number
  readonly order?: 'asc' | 'desc'
  readonly equal?: string | number
  /** The list begins after this key. Keys are compared by code unit. Cannot be used together with `order`. */
  readonly after?: string | undefined
}

/** For each ref, the document that it names, or undefined. The order is that of the refs. */
export type Found<Refs extends readonly Ref[]> = {
  readonly [At in keyof Refs]: Refs[At] extends Ref<infer Fields> ? Kept<Fields> | undefined : never
}

/**
 * Keeps the documents of all features, each below its owner. Rejects with STORE_FAILED, STORE_BUSY, STORE_FULL, or the error of a
 * quota. A document that has expired counts as missing. Every adapter passes `test/support/documents.contract.ts`.
 */
export type Documents = {
  /** Prepares all reads, for example by loading a client library. Never rejects. */
  readonly open?: () => Promise<void>
  readonly read: <const Refs extends readonly Ref[]>(owner: string, refs: Refs) => Promise<Found<Refs>>
  readonly list: <Fields extends object>(
    owner: string,
    of: Collection<Fields>,
    options: ListOptions,
  ) => Promise<readonly Kept<Fields>[]>
  /**
   * Reads at least one document of an owner, and makes the planned writes, in one transaction. It may run `plan` several times.
   * If `plan` throws, nothing is written. Each document is written at most once. A written document that is not in `refs` counts
   * as new. Changes of this process that have the same first document happen one after the other.
   */
  readonly change: <const Refs extends readonly Ref[], Result>(
    owner: string,
    refs: Refs,
    plan: (found: Found<Refs>) => Planned<Result>,
  ) => Promise<Result>
  /**
   * Writes a document if none has its key, and resolves to undefined. Otherwise writes nothing, and resolves to the document that
   * has the key. Many callers can claim one key at once without waiting for each other. In Firestore, a claim is not counted for
   * the quota.
   */
  readonly claim: <Fields extends object>(
    owner: string,
    to: Ref<Fields>,
    fields: Fields,
  ) => Promise<Kept<Fields> | undefined>
  /** The versions that are kept, the newest first. Empty if there is no document. */
  readonly history: <Fields extends object>(
    owner: string,
    of: Ref<Fields>,
  ) => Promise<readonly Version<Fields>[]>
}

/** Throws STORE_FAILED if the text does not have the fields of the collection. */
export function fieldsIn<Fields extends object>({ name, fields }: Collection<Fields>, text: string): Fields {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new ToolrackError('STORE_FAILED', undefined, { cause })
  }
  if (fields(value)) return value
  const cause = new Error(`a document of ${name} has another form`)
  throw new ToolrackError('STORE_FAILED', undefined, { cause })
}
