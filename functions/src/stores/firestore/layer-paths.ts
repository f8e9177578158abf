import type { CollectionReference, DocumentReference, Firestore } from 'firebase-admin/firestore'
import type { StoredLayer } from '../../catalog/views/layer-source.ts'
import type { KeptName } from '../../catalog/definitions/layer-changes.ts'

/**
 * The document of a layer, which has the layer's revision: `tools/defs` or `users/{uid}/tools/defs`. The definitions are the
 * documents of its collection `items`. The path is built segment by segment, so that no uid can lead to another document.
 */
export function layerDocument(firestore: Firestore, layer: StoredLayer): DocumentReference {
  const owner = layer.kind === 'global' ? undefined : firestore.collection('users').doc(layer.uid)
  return (owner ?? firestore).collection('tools').doc('defs')
}

/** The segments of the path of `layerDocument`, for REST. */
export function layerSegments(layer: StoredLayer): readonly string[] {
  return [...(layer.kind === 'global' ? [] : ['users', layer.uid]), 'tools', 'defs']
}

export const ITEMS = 'items'

export function itemsOf(layer: DocumentReference): CollectionReference {
  return layer.collection(ITEMS)
}

/** The versions of a definition or a module, one document for each revision. */
export function versionsOf(item: DocumentReference): CollectionReference {
  return item.collection('versions')
}

/** Copies of documents of other programs that this service has replaced by its own definition. */
export function replacedOf(item: DocumentReference): CollectionReference {
  return item.collection('replaced')
}

/** The modules of a layer, in `tools/modules/items/{module}`. */
export function modulesOf(layer: DocumentReference): CollectionReference {
  return layer.parent.doc('modules').collection(ITEMS)
}

/** The sources of modules. Each document has the sha256 of its source as its id. */
export function blobsOf(layer: DocumentReference): CollectionReference {
  return layer.parent.doc('modules').collection('blobs')
}

export function recordOf(
  layer: DocumentReference,
  { kind, name }: Pick<KeptName, 'kind' | 'name'>,
): DocumentReference {
  return (kind === 'definition' ? itemsOf(layer) : modulesOf(layer)).doc(name)
}
