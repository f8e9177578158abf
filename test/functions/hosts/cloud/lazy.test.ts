import { afterAll, expect, test } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { copyOfFunctions } from '../../../support/copy-of-functions.ts'
import { loadedPackages } from '../../../support/loaded-packages.ts'

const PACKAGES = [
  'zod',
  'ajv',
  '@google-cloud/firestore',
  '@google-cloud/run',
  'google-auth-library',
  'firebase-admin',
  'firebase-functions',
  'gpt-tokenizer',
]

/** Nobody listens there: what is loaded on the way to Firestore is loaded all the same. */
const ENV = {
  FIRESTORE_EMULATOR_HOST: '127.0.0.1:9',
  GOOGLE_CLOUD_PROJECT: 'demo-p',
  RUNNER_SERVICE: 'toolrack-runner',
  RUNNER_REGION: 'us-central1',
  METADATA_SERVER_DETECTION: 'none',
}

/** The file layer as the build writes it. */
const BUILT = { revision: 'built', whole: true, definitions: [], deleted: [], skipped: [] }

const copy = copyOfFunctions()
afterAll(() => copy[Symbol.dispose]())
writeFileSync(join(copy.functions, 'src/hosts/cloud/file-layer.json'), JSON.stringify(BUILT))

/** What an instance does before its first list, and then this. */
function loadedAfter(code: string): readonly string[] {
  const env = {
    ...ENV,
    TOOLRACK_STORE: 'firestore',
    TOOLRACK_AUTH: 'firebase',
  }
  const setup = `
    const { cloudServices } = await import('./functions/src/hosts/cloud/services.ts')
    const { createApp } = await import('./functions/src/hosts/services.ts')
    const { parseConfig } = await import('./functions/src/hosts/config.ts')
    const log = { info() {}, warn() {}, error() {} }
    const services = cloudServices(parseConfig(), log)
    createApp(services, 'workflows')
    const ann = { kind: 'user', uid: 'ann', isAdmin: false }
    await services.catalog.view(ann)`
  return loadedPackages(PACKAGES, `${setup}\n${code}\nprocess.exit()`, env, copy.root)
}

test('neither the import of the functions nor a warm request loads the schemas of routes', () => {
  const code = `
    await import('./functions/src/index.ts')
    const { createServer, request } = await import('node:http')
    const served = { ...services, authenticate: () => ann }
    const server = createServer(createApp(served, 'workflows')).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const ask = (method, path, body = '') => new Promise((resolve, reject) => {
      const options = { port: server.address().port, method, path: '/workflows/tools' + path }
      request(options, (res) => res.resume().on('end', () => resolve(res.statusCode))).on('error', reject).end(body)
    })
    const statuses = []
    for (let time = 0; time < 2; time += 1)
      statuses.push(
        await ask('GET', '/list'),
        await ask('GET', '/explain?name=A'),
        await ask('POST', '/dispatch/complete', '{}'),
        await ask('POST', '/invoke', '{}'),
      )
    if (String(statuses) !== '200,200,400,400,200,200,400,400') throw new Error(String(statuses))`
  expect(loadedAfter(code)).not.toContain('zod')
}, 60_000)

test('only what counts tokens loads their vocabulary', () => {
  const code = `
    const { tokenCounter } = await import('./functions/src/catalog/tokens/token-counter.ts')
    await tokenCounter()`
  expect(loadedAfter(code)).toEqual(['gpt-tokenizer'])
}, 60_000)

test('a look at the runner loads what finds it, and goes on without credentials', () => {
  const code = `await services.runner.health()`
  expect(loadedAfter(code)).toContain('@google-cloud/run')
}, 60_000)

test('a list loads nothing that only a write needs, and does not make Node load its own fetch', () => {
  // Node keeps the names of its built-in modules that are loaded in process.moduleLoadList.
  const code = `if (process.moduleLoadList.includes('NativeModule internal/deps/undici/undici')) await import('zod')`
  expect(loadedAfter(code)).toEqual([])
})

test('a definition that is sent does, and a write', () => {
  const write = `
    await services.writer.put(ann, { layer: 'user', name: 'A', precondition: {} }, {}).catch(() => undefined)
    services.writer.delete(ann, { layer: 'user', name: 'A', precondition: {} }).catch(() => undefined)
    while (!loaded.includes('@google-cloud/firestore')) await new Promise((resolve) => setImmediate(resolve))`
  // The client brings the library of credentials with it, sooner or later.
  const loaded = loadedAfter(write).filter((name) => name !== 'google-auth-library')
  expect(loaded).toEqual(['zod', '@google-cloud/firestore', 'gpt-tokenizer'])
}, 60_000)
