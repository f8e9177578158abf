/** The functions of one file by their names, each with a call of it. */
export type Calls<Call> = { readonly [path: string]: { readonly [name: string]: Call } }
