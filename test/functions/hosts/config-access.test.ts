import { expect, test } from '@jest/globals'
import { parseConfig } from '../../../functions/src/hosts/config.ts'
import { ConfigError } from '../../../functions/src/settings/variables.ts'
import { ecKey, jobKeysText } from '../../support/signed-tokens.ts'

const firebase = { TOOLRACK_AUTH: 'firebase', GOOGLE_CLOUD_PROJECT: 'demo' }

function fault(env: NodeJS.ProcessEnv): string {
  try {
    parseConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  throw new Error('the environment was accepted')
}

test('local tokens are the default', () => {
  expect(parseConfig({}).auth).toEqual({ kind: 'local' })
  expect(parseConfig({}).jobKeys).toBeUndefined()
})

test('Firebase tokens need a project, from either variable', () => {
  const auth = { kind: 'firebase', projectId: 'demo', emulator: false, jobAccounts: [], jobAudiences: [] }
  expect(parseConfig(firebase).auth).toEqual(auth)
  expect(parseConfig({ TOOLRACK_AUTH: 'firebase', GCLOUD_PROJECT: 'demo' }).auth).toEqual(auth)
  expect(parseConfig({ ...firebase, GCLOUD_PROJECT: 'other' }).auth).toEqual(auth)
  for (const none of [undefined, ''])
    expect(fault({ TOOLRACK_AUTH: 'firebase', GOOGLE_CLOUD_PROJECT: none })).toMatch(
      /^GOOGLE_CLOUD_PROJECT must be set/,
    )
})

test('accounts and audiences are lists with commas', () => {
  const env = {
    ...firebase,
    TOOLRACK_JOB_ACCOUNTS: 'a@b.example, c@d.example,',
    TOOLRACK_JOB_AUDIENCES: 'https://x , y',
  }
  expect(parseConfig(env).auth).toMatchObject({
    jobAccounts: ['a@b.example', 'c@d.example'],
    jobAudiences: ['https://x', 'y'],
  })
})

test.each<[string, NodeJS.ProcessEnv, RegExp]>([
  ['another kind of tokens', { TOOLRACK_AUTH: 'SECRET' }, /^TOOLRACK_AUTH must be local or firebase$/],
  [
    'an account that is no address',
    { TOOLRACK_JOB_ACCOUNTS: 'a@b.example,SECRET' },
    /^TOOLRACK_JOB_ACCOUNTS must be e-mail/,
  ],
  [
    'keys that are none',
    { TOOLRACK_JOB_KEYS: '{"keys":["SECRET"]}' },
    /^TOOLRACK_JOB_KEYS must be a JSON Web Key Set/,
  ],
  ['a port that is none', { PORT: 'SECRET' }, /^PORT must be a number$/],
  ['a port above all', { PORT: '70000' }, /^PORT must be from 0 to 65535$/],
  ['an origin that is none', { TOOLRACK_CORS_ORIGINS: 'SECRET' }, /^TOOLRACK_CORS_ORIGINS must be origins/],
  [
    'a webhook on another machine without https',
    { TOOLRACK_APPROVALS_WEBHOOK: 'http://SECRET', TOOLRACK_APPROVALS_WEBHOOK_SECRET: 'x'.repeat(16) },
    /^TOOLRACK_APPROVALS_WEBHOOK must be an https/,
  ],
])('%s is refused with the name of the variable and not its value', (_what, env, message) => {
  expect(fault({ ...firebase, ...env })).toMatch(message)
  expect(fault({ ...firebase, ...env })).not.toContain('SECRET')
})

test('a webhook without its secret is refused, and its address is not repeated', () => {
  expect(fault({ TOOLRACK_APPROVALS_WEBHOOK: 'https://a.example/hidden' })).toBe(
    'TOOLRACK_APPROVALS_WEBHOOK_SECRET must be set if TOOLRACK_APPROVALS_WEBHOOK is set',
  )
})

test('job keys are read in their order', () => {
  const text = jobKeysText(ecKey('new'), ecKey('old'))
  expect(parseConfig({ TOOLRACK_JOB_KEYS: text }).jobKeys?.map(({ kid }) => kid)).toEqual(['new', 'old'])
})

const production = { ...firebase, K_SERVICE: 'workflows' }
const EMULATORS = [
  'FIREBASE_AUTH_EMULATOR_HOST',
  'FIRESTORE_EMULATOR_HOST',
  'STORAGE_EMULATOR_HOST',
  'X_EMULATOR_HOST',
]

test.each(EMULATORS)(
  'production does not boot with %s, also where it says that it is an emulator in other words',
  (name) => {
    for (const more of [
      {},
      { FUNCTIONS_EMULATOR: 'false' },
      { FUNCTIONS_EMULATOR: '1' },
      { FUNCTIONS_EMULATOR: 'TRUE' },
    ])
      expect(fault({ ...production, ...more, [name]: '127.0.0.1:9099' })).toBe(
        `${name} must not be set in production`,
      )
  },
)

test('every emulator is named', () => {
  const env = { ...production, ...Object.fromEntries(EMULATORS.map((name) => [name, 'h:1'])) }
  expect(fault(env)).toBe(`${EMULATORS.join(' and ')} must not be set in production`)
})

test('production boots without an emulator, and an emulator is no production', () => {
  expect(parseConfig(production).auth).toMatchObject({ emulator: false })
  const emulated = {
    ...production,
    FUNCTIONS_EMULATOR: 'true',
    FIREBASE_AUTH_EMULATOR_HOST: '127.0.0.1:9099',
  }
  expect(parseConfig(emulated).auth).toMatchObject({ emulator: true })
  expect(parseConfig({ ...firebase, FIREBASE_AUTH_EMULATOR_HOST: '127.0.0.1:9099' }).auth).toMatchObject({
    emulator: true,
  })
})
