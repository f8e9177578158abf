import type { DocumentData, DocumentSnapshot } from 'firebase-admin/firestore'

/** A document as it was read, by the client or by REST. */
export type FoundDocument = {
  readonly id: string
  /** Undefined when it is not there. What has no form in JSON is an object of a class. */
  readonly data: DocumentData | undefined
  /** Differs after every change of it; the two ways of reading spell it differently. */
  readonly updatedAt: string
}

/** What the client has read. */
export function foundDocument(snapshot: DocumentSnapshot): FoundDocument {
  const { id, updateTime } = snapshot
  const updatedAt = updateTime ? `${updateTime.seconds}.${updateTime.nanoseconds}` : ''
  return { id, data: snapshot.data(), updatedAt }
}
