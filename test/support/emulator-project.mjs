import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/toolchain/checkout.mjs'
import { addressesOf, secretsText } from '../../scripts/toolchain/emulators.mjs'
import { freePorts } from '../../scripts/toolchain/ports.mjs'

const uploaded = ['dist', 'workflows', 'package.json', '.env', '.env.demo-toolrack']
const copied = ['firestore.rules', 'firestore.indexes.json', 'hosting']

/**
 * Copies the checkout's Firebase project, as it is built now, into `folder` and gives every emulator a free port. So a
 * test run does not collide with a running `npm run dev`, and does not see a later build. `secrets` are the secrets of
 * the functions.
 * Returns the path of the copy's firebase.json and the addresses of its emulators.
 */
export async function makeEmulatorProject(folder, secrets) {
  const functions = join(folder, 'functions')
  mkdirSync(functions, { recursive: true })
  for (const name of uploaded)
    cpSync(join(root, 'functions', name), join(functions, name), { recursive: true })
  for (const name of copied) cpSync(join(root, name), join(folder, name), { recursive: true })
  for (const name of ['node_modules', 'functions/node_modules'])
    symlinkSync(join(root, name), join(folder, name), 'junction')
  writeFileSync(join(functions, '.secret.local'), secretsText(secrets), { mode: 0o600 })

  const config = JSON.parse(readFileSync(join(root, 'firebase.json'), 'utf8'))
  const names = ['auth', 'firestore', 'functions', 'hosting', 'hub', 'logging', 'eventarc', 'tasks']
  const [websocketPort, ...ports] = await freePorts(names.length + 1)
  for (const [index, name] of names.entries())
    config.emulators[name] = { ...config.emulators[name], host: '127.0.0.1', port: ports[index] }
  config.emulators.firestore.websocketPort = websocketPort
  // Each suite of the store has a project of its own.
  config.emulators.singleProjectMode = false
  writeFileSync(join(folder, 'firebase.json'), JSON.stringify(config, undefined, 2))
  return { config: join(folder, 'firebase.json'), addresses: addressesOf(config) }
}
