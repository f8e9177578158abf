import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { jobKeys, PARAMETERS, sealingKey } from '../../functions/src/declaration.ts'
import { VARIABLES } from '../../functions/src/hosts/config.ts'
import { ROOT } from '../support/source-tree.ts'

/** The variables that a deployment of the functions does not set, by the reason. */
const NOT_OF_FUNCTIONS = {
  'the functions set it themselves': ['PORT', 'HOST', 'TOOLRACK_STORE', 'TOOLRACK_AUTH'],
  'it is about a file or a folder of the embedded server': [
    'TOOLRACK_DATA',
    'TOOLRACK_STORE_MB',
    'TOOLRACK_AUDIT_LOG_PATH',
    'TOOLRACK_TOOLS_DIR',
  ],
  'the platform sets it': [
    'GOOGLE_CLOUD_PROJECT',
    'GCLOUD_PROJECT',
    'FIREBASE_AUTH_EMULATOR_HOST',
    'FUNCTIONS_EMULATOR',
    'K_SERVICE',
  ],
  'Hosting passes on no requests for metrics': ['TOOLRACK_METRICS'],
  'the emulators set it, and a parameter would take its place': ['RUNNER_URL', 'RUNNER_SECRET'],
  'it is about a runner that the embedded server starts': [
    'TOOLRACK_RUNNER_SLOTS',
    'TOOLRACK_RUNNER_USER_SLOTS',
    'TOOLRACK_RUNNER_POOL_MB',
    'TOOLRACK_RUNNER_MIN_ISOLATION',
    'TOOLRACK_RUNNER_NETWORK_ALLOW',
    'TOOLRACK_REUSE',
    'TOOLRACK_PACKAGES',
    'TOOLRACK_PACKAGES_DIR',
    'TOOLRACK_PACKAGES_ALLOW',
    'TOOLRACK_PACKAGES_DENY',
    'TOOLRACK_PACKAGES_INDEX',
    'TOOLRACK_PACKAGES_WHEELS',
    'TOOLRACK_PACKAGES_MB',
    'TOOLRACK_PACKAGES_FILES',
    'TOOLRACK_PACKAGES_SECONDS',
    'TOOLRACK_PACKAGES_COUNT',
    'TOOLRACK_PACKAGES_PRELOAD',
    'TOOLRACK_PYTHON',
  ],
}

test('a deployment declares every variable that applies to functions', () => {
  const others = Object.values(NOT_OF_FUNCTIONS).flat()
  const declared = [...Object.keys(PARAMETERS), jobKeys.name, sealingKey.name]
  expect([...declared, ...others].toSorted()).toEqual(VARIABLES.toSorted())
})

test('functions/.env has each parameter with its default, so that a deployment asks for none', () => {
  const lines = readFileSync(new URL('functions/.env', ROOT), 'utf8').split('\n')
  const set = lines.filter((line) => line !== '' && !line.startsWith('#'))
  expect(set).toEqual(Object.entries(PARAMETERS).map(([name, [value]]) => `${name}=${value}`))
})
