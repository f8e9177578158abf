import type { Firestore, QuerySnapshot } from 'firebase-admin/firestore'
import type { SkippedItem, StoredDefinition, StoredLayer } from '../../catalog/views/layer-source.ts'
import { managingModule } from '../../catalog/definitions/plan-write.ts'
import type { SchemaCompilers } from '../../catalog/schemas/schema-compilers.ts'
import { foreignDefinition } from './foreign-documents.ts'
import { itemsOf, layerDocument } from './layer-paths.ts'
import { foundDocument, itemDocument, type FoundDocument } from './stored-documents.ts'

/** The documents in `users/{uid}/tools` that belong to this service. It keeps its own data below them. */
const OURS = new Set(['defs', 'modules', 'invocations', 'rules', 'approvals', 'agents'])

/** A document of the original service. */
type OriginalDocument = { readonly path: string; readonly found: FoundDocument }

/** The documents of the original service in one layer. If several of them have the same name, the first one counts. */
export type OriginalLayer = {
  readonly layer: StoredLayer
  readonly documents: readonly OriginalDocument[]
  /** The definitions in this layer that this service has written: their texts by their names. */
  readonly own: ReadonlyMap<string, string>
}

export type ReadOriginals = {
  /** The definitions to write. `source` is the path of the document. */
  readonly definitions: readonly (StoredDefinition & { readonly source: string })[]
  /** The paths of documents that are definitions of this service already. */
  readonly unchanged: readonly string[]
  /** The names that this service has defined differently, and the paths of the original documents with these names. */
  readonly kept: readonly { readonly name: string; readonly source: string }[]
  /** The documents that cannot become definitions. `source` is the path of the document. */
  readonly skipped: readonly SkippedItem[]
}

/** Reads the original documents of the global layer, and then those of each user. */
export async function* originalLayers(firestore: Firestore): AsyncGenerator<OriginalLayer> {
  yield originalLayer(firestore, { kind: 'global' })
  // A user's document need not exist. `listDocuments` also finds ids that have only collections.
  for (const { id: uid } of await firestore.collection('users').listDocuments())
    yield originalLayer(firestore, { kind: 'user', uid })
}

/**
 * Reads the original documents of one layer. Those of a user are in `items`, like the global ones, or in `users/{uid}/tools`. The
 * original service reads them from a path that cannot exist in Firestore. These two paths are the nearest possible ones.
 */
async function originalLayer(firestore: Firestore, layer: StoredLayer): Promise<OriginalLayer> {
  const document = layerDocument(firestore, layer)
  const own = new Map<string, string>()
  const documents: OriginalDocument[] = []
  for (const { path, found } of documentsIn(await itemsOf(document).get())) {
    const item = itemDocument(found)
    if (!item) documents.push({ path, found })
    else if (item.text !== null) own.set(item.name, item.text)
  }
  if (layer.kind === 'user') {
    const beside = documentsIn(await document.parent.get())
    documents.push(...beside.filter(({ found }) => !OURS.has(found.id)))
  }
  return { layer, documents, own }
}

function documentsIn({ docs }: QuerySnapshot): readonly OriginalDocument[] {
  return docs.map((snapshot) => ({ path: snapshot.ref.path, found: foundDocument(snapshot) }))
}

/** Reads each original document of a layer as a definition. If several documents have the same name, the first one counts. */
export async function readOriginals(
  { documents, own }: OriginalLayer,
  compilers: SchemaCompilers,
): Promise<ReadOriginals> {
  const definitions = new Map<string, ReadOriginals['definitions'][number]>()
  const unchanged: string[] = []
  const kept: { name: string; source: string }[] = []
  const skipped: SkippedItem[] = []
  for (const { path: source, found } of documents) {
    const read = await foreignDefinition(found, compilers)
    if ('skipped' in read) {
      skipped.push(...read.skipped.map((item) => ({ ...item, source })))
      continue
    }
    const { name, text } = read.definition
    const first = definitions.get(name)
    const ownText = own.get(name)
    if (ownText === text) unchanged.push(source)
    else if (ownText !== undefined) kept.push({ name, source })
    else if (first)
      skipped.push({ source, pointer: '', message: `the name ${name} is taken by ${first.source}` })
    else if (managingModule({ text }) !== undefined)
      skipped.push({ source, pointer: '/runner', message: NO_MODULE })
    else definitions.set(name, { ...read.definition, source })
  }
  return { definitions: [...definitions.values()], unchanged, kept, skipped }
}

const NO_MODULE = 'names a Python module; upload the module instead: PUT …/tools/modules/{module}'
