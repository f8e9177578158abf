import { listenToRest } from '../../test/support/rest-traffic.ts'

/** The requests of a process to Firestore, and the number of documents that Firestore would bill. */
export type Reads = { calls: number; layerDocuments: number; items: number }

type Response = { readonly found?: Found; readonly document?: Found; readonly missing?: string }
type Found = { readonly name: string }

const LINE =
  /\[Firestore\.request(?:Stream)?\]: (?:(?<sent>Sending request)|Received response): (?<json>.*)$/s

/**
 * Counts the reads in the Firestore client's log and in the REST traffic, from now on. Counting costs time, so no other
 * figure is measured in a process that counts.
 */
export async function countReads(): Promise<Reads> {
  const { setLogFunction } = await import('@google-cloud/firestore')
  const reads: Reads = { calls: 0, layerDocuments: 0, items: 0 }
  setLogFunction((line) => {
    const { sent, json } = LINE.exec(line)?.groups ?? {}
    if (sent !== undefined) reads.calls += 1
    else if (json !== undefined) count(JSON.parse(json) as Response | null)
  })
  listenToRest({
    onQuestion: () => (reads.calls += 1),
    onAnswer: (text) => (JSON.parse(text) as Response[]).forEach(count),
  })
  /** A request for a document that does not exist is billed too. */
  function count(response: Response | null): void {
    const name = response?.found?.name ?? response?.document?.name ?? response?.missing
    if (name === undefined) return
    if (name.includes('/defs/items/')) reads.items += 1
    else reads.layerDocuments += 1
  }
  return reads
}
