import type { JsonValue } from '@toolrack/contract'

/** One place of a definition that was read as something else; `to` is null for what has no place in a definition and was left out. */
export type Normalisation = { readonly pointer: string; readonly from: JsonValue; readonly to: JsonValue }
