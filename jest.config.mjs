import { availableParallelism } from 'node:os'
import { deepSuites, packageSuites } from './scripts/toolchain/deep-suites.mjs'

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

/** `npm test` without arguments leaves out the deep suites, and those that need an index. A path names any suite. */
const { TOOLRACK_TEST_QUICK: isQuick, TOOLRACK_TEST_WHOLE: isWhole } = process.env
const leftOut = [...(isQuick === 'true' ? deepSuites : []), ...(isWhole === 'true' ? packageSuites : [])]

export default {
  // More workers than processors, because suites wait for servers most of their time. A number: jest reads '150%' as 150.
  maxWorkers: Math.ceil(availableParallelism() * 2),
  testSequencer: '<rootDir>/test/support/long-suites-first.mjs',
  // What a test waits for comes late on a machine that does much else.
  testTimeout: 120_000,
  projects: [
    {
      ...suites,
      displayName: 'service',
      testMatch: [testsIn('test')],
      testPathIgnorePatterns: [...firebase.map((folder) => `${folder}/`), ...leftOut].map(atRoot),
    },
    {
      ...suites,
      displayName: 'firebase',
      testMatch: firebase.map(testsIn),
      testPathIgnorePatterns: leftOut.map(atRoot),
      globalSetup: '<rootDir>/test/support/firebase-setup.mjs',
      globalTeardown: '<rootDir>/test/support/firebase-teardown.mjs',
    },
  ],
}
