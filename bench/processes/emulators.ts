import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { demoProject, emulatorEnvironment, startEmulators } from '../../scripts/toolchain/emulators.mjs'
import { freePorts } from '../../scripts/toolchain/ports.mjs'
import type { NotRun } from '../measure/result.ts'

const host = '127.0.0.1'

export type Emulators = {
  readonly project: string
  /** The address of the Auth emulator, as host:port. */
  readonly auth: string
  /** The address of the Firestore emulator, as host:port. */
  readonly firestore: string
}

/** Calls `work` with the emulators of Firestore and Auth, on free ports. If the machine cannot run them, returns the reason. */
export async function withEmulators<T>(
  folder: string,
  work: (emulators: Emulators) => Promise<T>,
): Promise<T | NotRun> {
  const [auth, firestore, websocketPort, hub, logging] = await freePorts(5)
  const emulators = {
    auth: { host, port: auth },
    firestore: { host, port: firestore, websocketPort },
    hub: { host, port: hub },
    logging: { host, port: logging },
    ui: { enabled: false },
    singleProjectMode: false,
  }
  const started = await start(join(folder, 'emulators'), JSON.stringify({ emulators }))
  if ('notRun' in started) return started
  try {
    return await work({
      project: demoProject,
      auth: `${host}:${auth}`,
      firestore: `${host}:${firestore}`,
    })
  } finally {
    await started.stop()
  }
}

async function start(folder: string, text: string) {
  try {
    const machine = emulatorEnvironment(process.execPath)
    mkdirSync(folder, { recursive: true })
    const config = join(folder, 'firebase.json')
    writeFileSync(config, text)
    return await startEmulators({ machine, config, folder })
  } catch (error) {
    // The message is one sentence about the missing part of the machine.
    if (error instanceof Error && error.name === 'SetupError') return { notRun: error.message }
    throw error
  }
}
