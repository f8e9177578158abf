import { jsonPointer } from '../json-pointer.ts'
import type { SchemaPath } from '../schema-keywords.ts'

/** Thrown where a schema can't be said in a dialect, and caught by who asked for it; it never leaves this folder. */
export class Unfit extends Error {
  /** JSON Pointer into the schema. */
  readonly pointer: string

  constructor(path: SchemaPath, reason: string) {
    super(reason)
    this.pointer = jsonPointer(path)
  }
}
