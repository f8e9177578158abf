/** A layer that is written through the service. The file layer is not one. */
export type StoredLayer = { readonly kind: 'global' } | { readonly kind: 'user'; readonly uid: string }
