import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { storedZip } from './stored-zip.mjs'

const inSdk = 'platform/cloud-firestore-emulator/cloud-firestore-emulator.jar'
const mainClass = 'com.google.cloud.datastore.emulator.firestore.CloudFirestore'

/**
 * Where the Firestore emulator is: `{ isHere, env }`, with the environment variables that tell firebase-tools of it. It
 * knows its own cache, and downloads into it what is nowhere. The Google Cloud SDK ships the same emulator in a jar that
 * names no main class, so we write a jar that names the class and points there.
 */
export function firestoreJar(root, { env = process.env, home = homedir() } = {}) {
  if (env.FIRESTORE_EMULATOR_BINARY_PATH || isCached(root, env, home)) return { isHere: true, env: {} }
  const jar = sdkJar(env)
  if (jar === undefined) return { isHere: false, env: {} }
  const shim = join(root, '.toolrack/firestore-emulator.jar')
  mkdirSync(dirname(shim), { recursive: true, mode: 0o700 })
  const mine = `${shim}.${process.pid}`
  writeFileSync(mine, shimJar(jar))
  renameSync(mine, shim)
  return { isHere: true, env: { FIRESTORE_EMULATOR_BINARY_PATH: shim } }
}

/** A jar that is nothing but a pointer to another one. */
export function shimJar(jar) {
  const lines = [
    'Manifest-Version: 1.0',
    `Main-Class: ${mainClass}`,
    `Class-Path: ${pathToFileURL(jar).href}`,
  ]
  return storedZip('META-INF/MANIFEST.MF', `${lines.map(folded).join('\r\n')}\r\n\r\n`)
}

/** A line of a manifest has at most 72 bytes; it goes on in the next line after one blank. */
function folded(line) {
  return line.replaceAll(/(.{70})(?=.)/g, '$1\r\n ')
}

function isCached(root, env, home) {
  const info = join(root, 'node_modules/firebase-tools/lib/emulator/downloadableEmulatorInfo.json')
  const { downloadPathRelativeToCacheDir: name } = JSON.parse(readFileSync(info, 'utf8')).firestore
  return existsSync(join(env.FIREBASE_EMULATORS_PATH || join(home, '.cache/firebase/emulators'), name))
}

/** The emulator of the SDK that `gcloud` on PATH belongs to. */
function sdkJar(env) {
  const gcloud = (env.PATH ?? env.Path ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'gcloud'))
    .find((path) => path !== 'gcloud' && existsSync(path))
  if (gcloud === undefined) return undefined
  const beside = join(dirname(dirname(realpathSync(gcloud))), inSdk)
  if (existsSync(beside)) return beside
  // Some systems put a script of their own in front of it.
  const { stdout } = spawnSync(gcloud, ['info', '--format=value(installation.sdk_root)'], {
    encoding: 'utf8',
  })
  const told = join(stdout?.trim() ?? '', inSdk)
  return existsSync(told) ? told : undefined
}
