import { expect, test } from '@jest/globals'
import { firestoreConnection } from '../../../../functions/src/stores/firestore/connect-firestore.ts'

const PROJECT = { GOOGLE_CLOUD_PROJECT: 'demo-p' }
const DEPLOYED = { ...PROJECT, K_SERVICE: 'workflows' }

test.each([
  ['on Cloud Run', DEPLOYED],
  ['on Cloud Functions', { GCLOUD_PROJECT: 'demo-p', K_SERVICE: 'workflows', FUNCTION_TARGET: 'workflows' }],
  ['against the emulator', { ...PROJECT, FIRESTORE_EMULATOR_HOST: '127.0.0.1:1' }],
  [
    'against both emulators',
    { ...DEPLOYED, FUNCTIONS_EMULATOR: 'true', FIRESTORE_EMULATOR_HOST: '127.0.0.1:1' },
  ],
])('layers are read by REST %s', (_title, env) => {
  expect(firestoreConnection(env).rest).toBeDefined()
})

test.each([
  ['where nobody knows whose database', { K_SERVICE: 'workflows' }],
  ['on a machine without a metadata server', PROJECT],
  ['with a file of keys', { ...DEPLOYED, GOOGLE_APPLICATION_CREDENTIALS: 'keys.json' }],
  ['in the emulator of functions over a real database', { ...DEPLOYED, FUNCTIONS_EMULATOR: 'true' }],
])('layers are read by the client %s', (_title, env) => {
  expect(firestoreConnection(env).rest).toBeUndefined()
})
