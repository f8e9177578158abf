/** Why a schema is not admitted: a JSON Pointer into the schema and a sentence for its author. */
export type SchemaFault = { readonly pointer: string; readonly message: string }

/** A keyword that stays in the schema for the model and is not enforced by the service, and why. */
export type Unenforced = { readonly pointer: string; readonly reason: string }
