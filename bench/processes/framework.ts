import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { freePorts } from '../../scripts/toolchain/ports.mjs'
import type { Emulators } from './emulators.ts'

/** The path of the program of the Functions Framework, which the platform starts. */
export const FRAMEWORK = join(
  dirname(createRequire(import.meta.url).resolve('@google-cloud/functions-framework')),
  'main.js',
)

/** The environment that tells the framework which function of a folder to serve, on a free port. */
export async function served(source: string, target: string): Promise<NodeJS.ProcessEnv> {
  const [port] = await freePorts(1)
  return { FUNCTION_SOURCE: source, FUNCTION_TARGET: target, PORT: String(port) }
}

/** The environment of a deployed function, with the addresses of the emulators. */
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
