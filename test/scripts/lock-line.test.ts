import { expect, test } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lineNamedBy } from '../../scripts/toolchain/lock-line.mjs'
import { temporaryFolder } from '../support/temporary-folder.ts'

const LOCK = `# a comment
six==1.17.0 \\
    --hash=sha256:00
humanize==4.12.3 ; python_full_version >= '3.11' \\
    --hash=sha256:00
a b
`

/** What pip says, by what is wrong. */
const SAID: readonly (readonly [string, string, unknown])[] = [
  [
    'a wrong hash',
    'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n    six==1.17.0 from file:///w/six.whl (from -r /c/python-runner/packages.txt (line 2)):\n        Expected sha256 00\n',
    { number: 2, text: 'six==1.17.0' },
  ],
  [
    'no such version',
    'ERROR: Could not find a version that satisfies the requirement humanize==4.12.3 (from versions: none)\nERROR: No matching distribution found for humanize==4.12.3\n',
    { number: 4, text: 'humanize==4.12.3' },
  ],
  [
    'a line that is no requirement',
    "ERROR: Invalid requirement: 'a b' (from line 6 of /c/python-runner/packages.txt)\n",
    { number: 6, text: 'a b' },
  ],
  [
    'another lock',
    'ERROR: No matching distribution found for pydantic==2.14.3\nERROR: x (from -r /c/requirements.txt (line 2))\n',
    undefined,
  ],
  ['nothing that can be read', 'WARNING: six==1.17.0\nline 2 of nothing\n', undefined],
  ['a line that is not there', 'ERROR: packages.txt (line 99)\n', undefined],
]

test.each(SAID)('%s: the line of the lock is found in what pip says', (_title, output, expected) => {
  using folder = temporaryFolder()
  const lock = join(folder.path, 'packages.txt')
  writeFileSync(lock, LOCK)
  expect(lineNamedBy(output, lock)).toEqual(expected)
})
