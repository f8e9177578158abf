export interface FirebaseEmulators {
  readonly project: string
  /** As host:port. */
  readonly auth: string
  /** As host:port. */
  readonly firestore: string
  readonly stop: () => Promise<void>
}
export function startFirebaseEmulators(folder: string): Promise<FirebaseEmulators>
