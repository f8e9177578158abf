import Sequencer from '@jest/test-sequencer'

/** Suites that take many seconds, the longest first. They begin before all others, so that no long suite remains at the end. */
const LONG = [
  'stores/firestore/firestore-definition-store',
  'e2e/start-failures',
  'hosts/local/killed-first-start',
  'e2e/author-tool',
  'e2e/schema-checks',
  'scripts/packages',
  'scripts/broken-packages',
  'catalog/schemas/argument-validator',
  'stores/firestore/lost-writes',
  'e2e/two-users',
  'stores/firestore/foreign-documents',
  'e2e/durability',
  'e2e/firebase/dev',
  'e2e/folder-faults',
  'stores/firestore/lost-reads',
  'e2e/firebase/import',
  'stores/firestore/failing-calls',
  'e2e/private-data',
  'stores/firestore/answers-for-always',
  'e2e/supervised',
  'e2e/firebase/canaries',
  'e2e/long-lists',
  'stores/sqlite/answers-for-always',
  'e2e/shares',
  'e2e/bad-modules',
  'e2e/firebase/by-hand',
  'client/lost-service',
  'e2e/pages',
  'e2e/client',
  'e2e/original-engine',
  'fuzz/schemas',
  'architecture/stranger-texts',
  'contract/rules',
  'hosts/cloud/lazy',
  'e2e/calls',
  'e2e/calls-under-way',
  'e2e/users',
  'scripts/python-environment',
  'scripts/commands',
  'fuzz/routes',
  'stores/firestore/tampered-audit-documents',
  'e2e/firebase/original-engine',
  'e2e/terminal',
]

export default class LongSuitesFirst extends Sequencer {
  async sort(tests) {
    const long = tests.filter((test) => place(test) >= 0).toSorted((one, other) => place(one) - place(other))
    return [...long, ...(await super.sort(tests.filter((test) => place(test) < 0)))]
  }
}

/** The index of a suite in the list of long suites. -1 for any other suite. */
function place({ path }) {
  return LONG.findIndex((name) => path.endsWith(`/${name}.test.ts`))
}
