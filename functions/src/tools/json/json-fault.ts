/** What is wrong with a JSON text, and where. */
export type JsonFault = { readonly pointer: string; readonly message: string }
