/** Ends what `firebase-setup.mjs` has started. */
export default async function tearDown() {
  await globalThis.endEmulators?.()
}
