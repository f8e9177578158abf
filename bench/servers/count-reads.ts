import { listenToRest } from '../../test/support/rest-traffic.ts'

/** What a process has asked Firestore for, and the documents that it would pay for. */
export type Reads = { calls: number; layerDocuments: number; items: number }

type Response = { readonly found?: Found; readonly document?: Found; readonly missing?: string }
type Found = { readonly name: string }

const LINE =
  /\[Firestore\.request(?:Stream)?\]: (?:(?<sent>Sending request)|Received response): (?<json>.*)$/s

/**
 * Counts from now on: by what the Firestore client logs, and by what goes over the wire by REST. Both cost time, so that
 * nothing else is measured with it.
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
  /** A document that was asked for and is not there is paid for too. */
  function count(response: Response | null): void {
    const name = response?.found?.name ?? response?.document?.name ?? response?.missing
    if (name === undefined) return
    if (name.includes('/defs/items/')) reads.items += 1
    else reads.layerDocuments += 1
  }
  return reads
}
