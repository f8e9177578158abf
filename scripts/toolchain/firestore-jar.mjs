import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { pathFolders } from './child.mjs'

const inSdk = 'platform/cloud-firestore-emulator/cloud-firestore-emulator.jar'
const mainClass = 'com.google.cloud.datastore.emulator.firestore.CloudFirestore'

/**
 * Finds the Firestore emulator. Returns `{ isHere, env }`; `env` has the variable from which firebase-tools reads the
 * path of the emulator.
 *
 * firebase-tools finds the emulator in its own cache, and downloads the emulator if it is not there. Some networks forbid this
 * download, but allow the Google Cloud SDK. The SDK has the same emulator, as a jar without a main class in its manifest. So
 * this function writes a small jar that names the main class and refers to the SDK's jar.
 * @param {string} root
 * @param {{ env?: NodeJS.ProcessEnv, home?: string }} [machine]
 */
export function firestoreJar(root, { env = process.env, home = homedir() } = {}) {
  if (env.FIRESTORE_EMULATOR_BINARY_PATH || isCached(root, env, home)) return { isHere: true, env: {} }
  const jar = sdkJar(env)
  if (jar === undefined) return { isHere: false, env: {} }
  const path = join(root, '.toolrack/firestore-emulator.jar')
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileSync(`${path}.${process.pid}`, shimJar(jar))
  renameSync(`${path}.${process.pid}`, path)
  return { isHere: true, env: { FIRESTORE_EMULATOR_BINARY_PATH: path } }
}

function isCached(root, env, home) {
  const info = join(root, 'node_modules/firebase-tools/lib/emulator/downloadableEmulatorInfo.json')
  const { downloadPathRelativeToCacheDir: name } = JSON.parse(readFileSync(info, 'utf8')).firestore
  return existsSync(join(env.FIREBASE_EMULATORS_PATH || join(home, '.cache/firebase/emulators'), name))
}

/** The emulator of the SDK that `gcloud` on PATH belongs to. */
function sdkJar(env) {
  const gcloud = pathFolders(env)
    .map((folder) => join(folder, 'gcloud'))
    .find((path) => existsSync(path))
  if (gcloud === undefined) return undefined
  const beside = join(dirname(dirname(realpathSync(gcloud))), inSdk)
  if (existsSync(beside)) return beside
  // On some systems `gcloud` is a script that starts the `gcloud` of the SDK.
  const args = ['info', '--format=value(installation.sdk_root)']
  const { stdout } = spawnSync(gcloud, args, { encoding: 'utf8' })
  const path = join(stdout?.trim() ?? '', inSdk)
  return existsSync(path) ? path : undefined
}

/**
 * A jar with only a manifest: a ZIP archive with one file, not compressed.
 * @param {string} jar
 */
export function shimJar(jar) {
  const lines = [
    'Manifest-Version: 1.0',
    `Main-Class: ${mainClass}`,
    `Class-Path: ${pathToFileURL(jar).href}`,
  ]
  // A line of a manifest has at most 72 bytes. The rest follows in the next line after a space.
  const folded = lines.join('\r\n').replaceAll(/(.{70})(?=.)/g, '$1\r\n ')
  const content = Buffer.from(`${folded}\r\n\r\n`)
  const path = Buffer.from('META-INF/MANIFEST.MF')
  const entry = Buffer.alloc(26)
  entry.writeUInt16LE(20, 0) // version needed
  entry.writeUInt16LE(0x21, 8) // 1980-01-01, so that the bytes are always the same
  entry.writeUInt32LE(crc32(content), 10)
  entry.writeUInt32LE(content.length, 14)
  entry.writeUInt32LE(content.length, 18)
  entry.writeUInt16LE(path.length, 22)
  const file = Buffer.concat([Buffer.from('PK\x03\x04'), entry, path, content])
  const directory = Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), entry, Buffer.alloc(14), path])
  const end = Buffer.alloc(18)
  end.writeUInt16LE(1, 4) // entries on this disk
  end.writeUInt16LE(1, 6) // entries
  end.writeUInt32LE(directory.length, 8)
  end.writeUInt32LE(file.length, 12)
  return Buffer.concat([file, directory, Buffer.from('PK\x05\x06'), end])
}

/** The CRC-32, read from the end of a gzip. `zlib.crc32` needs Node 20.15, but these scripts must start on any Node 20. */
function crc32(bytes) {
  return gzipSync(bytes).subarray(-8).readUInt32LE()
}
