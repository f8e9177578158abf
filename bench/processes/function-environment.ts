import type { Emulators } from './emulators.ts'

/** The environment of a function that is deployed, but for the emulators that it talks to. */
export function functionEnvironment(
  { project, firestore, auth }: Emulators,
  more: NodeJS.ProcessEnv = {},
): NodeJS.ProcessEnv {
  return {
    NODE_ENV: 'production',
    GCLOUD_PROJECT: project,
    GOOGLE_CLOUD_PROJECT: project,
    FIRESTORE_EMULATOR_HOST: firestore,
    FIREBASE_AUTH_EMULATOR_HOST: auth,
    METADATA_SERVER_DETECTION: 'none',
    ...more,
  }
}
