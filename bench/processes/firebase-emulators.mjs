import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/toolchain/checkout.mjs'
import { demoProject, emulatorEnvironment, startEmulators } from '../../scripts/toolchain/emulators.mjs'
import { freePorts } from '../../scripts/toolchain/ports.mjs'

/** Starts the emulators of Firestore and Auth on ports that nobody uses. Rejects with a SetupError where they can not be had. */
export async function startFirebaseEmulators(folder) {
  const machine = emulatorEnvironment(root, process.execPath)
  const host = '127.0.0.1'
  const [auth, firestore, websocketPort, hub, logging] = await freePorts(5)
  const emulators = {
    auth: { host, port: auth },
    firestore: { host, port: firestore, websocketPort },
    hub: { host, port: hub },
    logging: { host, port: logging },
    ui: { enabled: false },
    singleProjectMode: false,
  }
  mkdirSync(folder, { recursive: true })
  const config = join(folder, 'firebase.json')
  writeFileSync(config, JSON.stringify({ emulators }))
  const { stop } = await startEmulators({ root, machine, config, folder })
  return { project: demoProject, auth: `${host}:${auth}`, firestore: `${host}:${firestore}`, stop }
}
