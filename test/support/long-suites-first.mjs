import Sequencer from '@jest/test-sequencer'

/** Suites that take many seconds, the longest first. They begin before all others, so that no long suite remains at the end. */
const LONG = [
  'stores/firestore/firestore-definition-store',
  'e2e/two-users',
  'e2e/greedy-checks',
  'e2e/long-lists',
  'stores/firestore/lost-reads',
  'stores/firestore/lost-writes',
  'hosts/said-and-done',
  'architecture/stranger-texts',
  'e2e/author-tool',
  'e2e/bad-modules',
  'e2e/folder-bad-modules',
  'e2e/firebase/dev',
  'e2e/firebase/by-hand',
  'e2e/deploy',
  'e2e/firebase/import',
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
