import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { readArguments } from './toolchain/arguments.mjs'
import { root, runProgram } from './toolchain/checkout.mjs'
import { runCommand } from './toolchain/setup-error.mjs'

const cases = readdirSync(join(root, 'bench/cases')).map((file) => basename(file, '.ts'))
const count = {
  takes: 'N',
  rule: 'a whole number from 1 to 9999',
  accepts: (text) => /^[1-9]\d{0,3}$/.test(text),
}

const command = {
  name: 'bench',
  about: `Measures every case, or the named ones, and prints what it measured. All cases take at most 10 minutes.
bench/README.md describes each of them:

  ${cases.join('\n  ')}`,
  options: {
    rounds: { ...count, about: 'how often each case is measured; 1 by default' },
    seconds: { ...count, about: 'how long each load lasts; 1 by default' },
    save: {
      about: 'also keeps the results in bench/results/, and writes bench/RESULTS.md from all that are kept',
    },
  },
  words: { is: 'case', most: Infinity, oneOf: cases },
}

/** `npm run bench -- [case …]` */
await runCommand(() => {
  readArguments(command)
  return runProgram('full', 'bench/main.ts', process.argv.slice(2))
})
