import type { FoundDocument } from './found-document.ts'

/** A look at a layer's document, and what the same moment can still be asked for. */
export type LayerLook = {
  readonly document: FoundDocument
  /** The items as they were at that moment, all or those with a higher revision: a revision never stands for two contents. */
  readonly items: (signal: AbortSignal, above?: number) => Promise<readonly FoundDocument[]>
}

/** How the documents of one layer are read: by the client, or by REST without loading it. */
export interface LayerReader {
  /** Gets what every read needs, where that is not at hand. Never rejects. */
  readonly open?: () => Promise<void>
  /** Costs one read. Who aborts the signal does not wait for the answer any more. */
  readonly look: (signal: AbortSignal) => Promise<LayerLook>
}
