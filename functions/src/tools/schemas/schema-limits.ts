/** What a schema may cost (design, section 6). Each bound stops one known attack on validators. */
export const SCHEMA_LIMITS = {
  /** UTF-8 bytes of the schema's JSON text. */
  bytesMax: 32 * 1024,
  /** Nesting of objects and arrays, the root counted as 1. */
  depthMax: 32,
  /** JSON values of any kind. */
  nodesMax: 2_000,
  /** JSON values once every `$ref` is written out: what a doubling bomb blows up. */
  weightMax: 10_000,
  /** Characters of the JSON Pointer to a value: an answer names each place of which there is something to say. */
  pointerMax: 1_024,
  /** How long a schema may compile, in milliseconds: 600 properties take 800 on a busy machine with a new process. */
  compileMsMax: 2_000,
} as const
