import { join } from 'node:path'
import type { NotRun } from '../measure/result.ts'
import { startFirebaseEmulators } from './firebase-emulators.mjs'
import type { FirebaseEmulators } from './firebase-emulators.mjs'

export type Emulators = Omit<FirebaseEmulators, 'stop'>

/** Lends Firebase's emulators, and stops them however the work ends; tells why the machine can not run them. */
export async function withEmulators<T>(
  folder: string,
  work: (emulators: Emulators) => Promise<T>,
): Promise<T | NotRun> {
  const started = await start(join(folder, 'emulators'))
  if ('notRun' in started) return started
  try {
    return await work(started)
  } finally {
    await started.stop()
  }
}

async function start(folder: string): Promise<FirebaseEmulators | NotRun> {
  try {
    return await startFirebaseEmulators(folder)
  } catch (error) {
    // Something that the machine lacks, in one sentence.
    if (error instanceof Error && error.name === 'SetupError') return { notRun: error.message }
    throw error
  }
}
