/** Unit, store and end-to-end suites: TypeScript as ES modules, on the pinned Node. `npm test` is the way in. */
const suites = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  modulePathIgnorePatterns: ['<rootDir>/functions/dist', '<rootDir>/.toolrack'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript' },
          target: 'es2023',
          experimental: { keepImportAttributes: true },
        },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
}

/** The suites that need the Firebase emulators, which are started once for all of them and for no other. */
const firebase = ['test/functions/stores/firestore', 'test/rules', 'test/e2e/firebase']

export default {
  // A worker for each processor: suites wait for servers most of their time.
  maxWorkers: '100%',
  testSequencer: '<rootDir>/test/support/long-suites-first.mjs',
  // What a test waits for comes late on a machine that does much else.
  testTimeout: 60_000,
  projects: [
    {
      ...suites,
      displayName: 'service',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: firebase.map((folder) => `<rootDir>/${folder}/`),
    },
    {
      ...suites,
      displayName: 'firebase',
      testMatch: firebase.map((folder) => `<rootDir>/${folder}/**/*.test.ts`),
      globalSetup: '<rootDir>/test/support/firebase-setup.mjs',
      globalTeardown: '<rootDir>/test/support/firebase-teardown.mjs',
    },
  ],
}
