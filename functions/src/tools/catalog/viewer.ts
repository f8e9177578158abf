import type { Grant } from '../../access/principal.ts'

/** Whose catalog it is, and what of it may be seen; without a grant all of it. */
export type Viewer = { readonly uid: string; readonly grant?: Grant | undefined }
