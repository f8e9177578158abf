import type { SkippedItem } from '../../tools/catalog/layer-source.ts'
import type { StoredDefinition } from '../../tools/catalog/stored-definition.ts'
import type { SchemaCompilers } from '../../tools/schemas/schema-compilers.ts'
import { foreignDefinition } from './foreign-definition.ts'
import type { ForeignRead } from './foreign-definition.ts'
import type { FoundDocument } from './found-document.ts'

/** What a layer holds that this service did not write. */
export type ForeignContent = {
  readonly definitions: readonly StoredDefinition[]
  readonly skipped: readonly SkippedItem[]
  /** Their ids, and the names they define: a write to one of these changes more than its own item. */
  readonly touched: ReadonlySet<string>
}

export const NOTHING_FOREIGN: ForeignContent = { definitions: [], skipped: [], touched: new Set() }

type Known = { readonly updatedAt: string; readonly read: ForeignRead }

/** Reads other programs' documents of one layer, and each of them again only when it has changed. */
export class ForeignDocuments {
  readonly #compilers: SchemaCompilers
  #known: ReadonlyMap<string, Known> = new Map()

  constructor(compilers: SchemaCompilers) {
    this.#compilers = compilers
  }

  /** A definition of ours wins over another program's of the same name, and so does the first id of two of theirs. */
  async read(documents: readonly FoundDocument[], own: ReadonlySet<string>): Promise<ForeignContent> {
    const known = new Map<string, Known>()
    const definitions = new Map<string, StoredDefinition>()
    const skipped: SkippedItem[] = []
    const touched = new Set<string>()
    for (const document of documents.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
      const read = await this.#read(document)
      known.set(document.id, { updatedAt: document.updatedAt, read })
      touched.add(document.id)
      if ('skipped' in read) {
        skipped.push(...read.skipped)
        continue
      }
      const { name, source = '' } = read.definition
      touched.add(name)
      const isTaken = own.has(name) || definitions.has(name)
      if (isTaken)
        skipped.push({ source, pointer: '', message: `the name ${name} is taken by another document`, name })
      else definitions.set(name, read.definition)
    }
    this.#known = known
    return { definitions: [...definitions.values()], skipped, touched }
  }

  async #read(document: FoundDocument): Promise<ForeignRead> {
    const known = this.#known.get(document.id)
    return known?.updatedAt === document.updatedAt ? known.read : foreignDefinition(document, this.#compilers)
  }
}
