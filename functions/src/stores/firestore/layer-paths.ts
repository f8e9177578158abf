import type { CollectionReference, DocumentReference, Firestore } from 'firebase-admin/firestore'
import type { StoredLayer } from '../../tools/catalog/layer-source.ts'
import type { KeptName } from '../../tools/records/layer-changes.ts'

/**
 * The document of a layer. `tools/defs` and `users/{uid}/tools/defs` are documents that hold the layer's revision; the
 * definitions are the documents of their collection `items`. Built segment by segment, so that no uid can lead elsewhere.
 */
export function layerDocument(firestore: Firestore, layer: StoredLayer): DocumentReference {
  const owner = layer.kind === 'global' ? undefined : firestore.collection('users').doc(layer.uid)
  return (owner ?? firestore).collection('tools').doc('defs')
}

/** The same as path segments, for REST. */
export function layerSegments(layer: StoredLayer): readonly string[] {
  return [...(layer.kind === 'global' ? [] : ['users', layer.uid]), 'tools', 'defs']
}

export const ITEMS = 'items'

export function itemsOf(layer: DocumentReference): CollectionReference {
  return layer.collection(ITEMS)
}

/** The versions of a definition lie below it, one document for each revision. */
export function versionsOf(item: DocumentReference): CollectionReference {
  return item.collection('versions')
}

/** Unchanged copies of the documents of other programs that a definition has replaced. */
export function replacedOf(item: DocumentReference): CollectionReference {
  return item.collection('replaced')
}

/** Modules lie beside the definitions of their layer, in `tools/modules/items/{module}`, with their versions below them. */
export function modulesOf(layer: DocumentReference): CollectionReference {
  return layer.parent.doc('modules').collection(ITEMS)
}

/** The sources of modules, each by its sha256. */
export function blobsOf(layer: DocumentReference): CollectionReference {
  return layer.parent.doc('modules').collection('blobs')
}

export function recordOf(
  layer: DocumentReference,
  { kind, name }: Pick<KeptName, 'kind' | 'name'>,
): DocumentReference {
  return (kind === 'definition' ? itemsOf(layer) : modulesOf(layer)).doc(name)
}
