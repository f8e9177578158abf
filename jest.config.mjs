import { notUnit, unitFolders } from './scripts/toolchain/unit-tests.mjs'

/** TypeScript as ES modules. `npm test` starts jest on the pinned Node. */
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

/** The suites that need the Firebase emulators, which are started once for all of them and only for them. */
const firebase = ['test/functions/stores/firestore', 'test/rules', 'test/e2e/firebase']

const testsIn = (folder) => `<rootDir>/${folder}/**/*.test.ts`
const atRoot = (path) => `<rootDir>/${path}`

export default {
  // A worker for each processor: suites wait for servers most of their time.
  maxWorkers: '100%',
  testSequencer: '<rootDir>/test/support/long-suites-first.mjs',
  // What a test waits for comes late on a machine that does much else.
  testTimeout: 120_000,
  projects: [
    {
      ...suites,
      displayName: 'unit',
      testMatch: unitFolders.map(testsIn),
      testPathIgnorePatterns: [...firebase, ...notUnit].map(atRoot),
    },
    {
      ...suites,
      displayName: 'service',
      // A later pattern overrides an earlier one.
      testMatch: [
        testsIn('test'),
        ...unitFolders.map((folder) => `!**/${folder}/**`),
        ...notUnit.map(atRoot),
      ],
      testPathIgnorePatterns: firebase.map((folder) => `<rootDir>/${folder}/`),
    },
    {
      ...suites,
      displayName: 'firebase',
      testMatch: firebase.map(testsIn),
      globalSetup: '<rootDir>/test/support/firebase-setup.mjs',
      globalTeardown: '<rootDir>/test/support/firebase-teardown.mjs',
    },
  ],
}
