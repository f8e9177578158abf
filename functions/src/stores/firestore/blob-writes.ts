import type { CollectionReference, Transaction } from 'firebase-admin/firestore'
import { foundDocument } from './found-document.ts'
import { blobDocument } from './module-documents.ts'
import type { BlobDocument } from './module-documents.ts'

/** What one transaction does to the sources of modules. Each knows which versions have it, so that none goes too early or stays for ever. */
export class BlobWrites {
  readonly #blobs: CollectionReference
  readonly #documents: Map<string, BlobDocument>

  private constructor(blobs: CollectionReference, documents: Map<string, BlobDocument>) {
    this.#blobs = blobs
    this.#documents = documents
  }

  static async read(
    transaction: Transaction,
    blobs: CollectionReference,
    hashes: readonly string[],
  ): Promise<BlobWrites> {
    const [first, ...rest] = [...new Set(hashes)].map((sha256) => blobs.doc(sha256))
    const found = first ? await transaction.getAll(first, ...rest) : []
    const known = found.flatMap((snapshot): [string, BlobDocument][] => {
      const document = blobDocument(foundDocument(snapshot))
      return document ? [[snapshot.id, document]] : []
    })
    return new BlobWrites(blobs, new Map(known))
  }

  keep(sha256: string, source: string, version: string): void {
    const others = this.#documents.get(sha256)?.keptBy ?? []
    this.#documents.set(sha256, { source, keptBy: [...others, version] })
  }

  release(sha256: string, version: string): void {
    const document = this.#documents.get(sha256)
    if (!document) return
    const keptBy = document.keptBy.filter((other) => other !== version)
    this.#documents.set(sha256, { ...document, keptBy })
  }

  write(transaction: Transaction): void {
    for (const [sha256, document] of this.#documents) {
      const reference = this.#blobs.doc(sha256)
      if (document.keptBy.length > 0) transaction.set(reference, document)
      else transaction.delete(reference)
    }
  }
}
