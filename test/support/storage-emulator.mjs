/*
 * The Storage emulator of firebase-tools, without the program that evaluates rules. firebase-tools downloads that program, and the
 * JSON API, which only a service account may use, does not ask it. Prints the port, and ends with its parent.
 */
import { EmulatorRegistry } from 'firebase-tools/lib/emulator/registry.js'
import { StorageEmulator } from 'firebase-tools/lib/emulator/storage/index.js'
import { createApp } from 'firebase-tools/lib/emulator/storage/server.js'

const projectId = 'demo-toolrack'
const rules = { name: 'storage.rules', content: '' }
const emulator = new StorageEmulator({ projectId, host: '127.0.0.1', port: 0, rules })
// The emulator looks up its own address, which is in links of its answers. Nobody follows them.
EmulatorRegistry.set('storage', emulator)
const app = await createApp(projectId, emulator)
const server = app.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
process.stdin.on('end', () => process.exit(0)).resume()
