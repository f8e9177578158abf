import { expect, test } from '@jest/globals'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { crc32 } from 'node:zlib'
import { firestoreJar, shimJar } from '../../scripts/toolchain/firestore-jar.mjs'
import { ROOT } from '../support/source-tree.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A checkout with firebase-tools in it and nothing else. */
function makeCheckout(root: string): void {
  mkdirSync(join(root, 'node_modules'))
  symlinkSync(
    fileURLToPath(new URL('node_modules/firebase-tools', ROOT)),
    join(root, 'node_modules/firebase-tools'),
  )
}

function write(path: string, text = ''): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}

test('the jar of the Google Cloud SDK gets one in front of it that names the main class', () => {
  using folder = temporaryFolder()
  makeCheckout(folder.path)
  const sdk = join(folder.path, 'a google cloud sdk')
  write(join(sdk, 'bin/gcloud'))
  write(join(sdk, 'platform/cloud-firestore-emulator/cloud-firestore-emulator.jar'))
  const { isHere, env } = firestoreJar(folder.path, { env: { PATH: join(sdk, 'bin') }, home: folder.path })
  expect(isHere).toBe(true)
  expect(env).toEqual({
    FIRESTORE_EMULATOR_BINARY_PATH: join(folder.path, '.toolrack/firestore-emulator.jar'),
  })
  const shim = readFileSync(join(folder.path, '.toolrack/firestore-emulator.jar'), 'latin1')
  const manifest = shim.replaceAll('\r\n ', '')
  expect(manifest).toContain('Main-Class: com.google.cloud.datastore.emulator.firestore.CloudFirestore\r\n')
  expect(manifest).toContain(`${sdk.replaceAll(' ', '%20')}/platform/cloud-firestore-emulator/`)
})

test('the jar is a ZIP archive with one stored file, in lines of at most 72 bytes', () => {
  const shim = shimJar(`/${'x'.repeat(200)}.jar`)
  const end = shim.length - 22
  const [directoryBytes, directory] = [shim.readUInt32LE(end + 12), shim.readUInt32LE(end + 16)]
  expect([shim.readUInt32LE(end), directory + directoryBytes]).toEqual([0x06054b50, end])
  const [method, crc, bytes] = [shim.readUInt16LE(8), shim.readUInt32LE(14), shim.readUInt32LE(22)]
  const manifest = shim.subarray(30 + shim.readUInt16LE(26), directory)
  expect([method, crc, bytes]).toEqual([0, crc32(manifest), manifest.length])
  const lines = manifest.toString().split('\r\n')
  expect(lines.slice(0, 2)).toEqual(['Manifest-Version: 1.0', expect.stringMatching(/^Main-Class: /)])
  expect(lines.filter((line) => line.length > 72)).toEqual([])
  expect(lines.join('').replaceAll(' ', '')).toContain(`/${'x'.repeat(200)}.jar`)
})

test('nothing is said of an emulator that firebase-tools has in its cache, or was told of', () => {
  using folder = temporaryFolder()
  makeCheckout(folder.path)
  const told = { FIRESTORE_EMULATOR_BINARY_PATH: '/elsewhere.jar', PATH: '' }
  expect(firestoreJar(folder.path, { env: told, home: folder.path })).toEqual({ isHere: true, env: {} })
  expect(firestoreJar(folder.path, { env: { PATH: '' }, home: folder.path })).toEqual({
    isHere: false,
    env: {},
  })

  const info = join(folder.path, 'node_modules/firebase-tools/lib/emulator/downloadableEmulatorInfo.json')
  const { firestore } = JSON.parse(readFileSync(info, 'utf8')) as {
    firestore: { downloadPathRelativeToCacheDir: string }
  }
  write(join(folder.path, '.cache/firebase/emulators', firestore.downloadPathRelativeToCacheDir))
  expect(firestoreJar(folder.path, { env: { PATH: '' }, home: folder.path })).toEqual({
    isHere: true,
    env: {},
  })
})
