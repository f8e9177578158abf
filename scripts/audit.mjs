import { readArguments, usageCode } from './toolchain/arguments.mjs'
import { runProgram } from './toolchain/checkout.mjs'
import { runCommand, SetupError } from './toolchain/setup-error.mjs'

const command = {
  name: 'audit',
  about: `Verifies an audit trail without a server: an export (GET /audit as application/x-ndjson), a file of TOOLRACK_AUDIT_LOG_PATH,
or a copy of audit.sqlite. Names the first record that is wrong and why. The exit code is 1 if something is wrong.

  npm run audit -- verify audit.jsonl`,
  options: {
    'public-key': { takes: 'KEY', about: 'the public key that must have signed the manifests' },
    head: {
      takes: 'HEAD',
      about: 'the head of a chain that was kept elsewhere, and that the file must have',
    },
    part: { about: 'the file has only some days, so the records of other days may be missing' },
  },
  words: { is: 'action', most: 2, oneOf: ['verify'], rest: 'file' },
}

/** `npm run audit -- verify <file>` */
await runCommand(() => {
  const { words, values } = readArguments(command)
  const [action, file] = words
  if (!action || !file)
    throw new SetupError(
      'Say verify, and name the file.\nnpm run audit -- --help says what there is.',
      usageCode,
    )
  const { 'public-key': key, head, part } = values
  const heads = (head === undefined ? [] : [head]).map((each) => `--head=${each}`)
  const args = [
    action,
    file,
    ...(key === undefined ? [] : [`--public-key=${key}`]),
    ...heads,
    ...(part ? ['--part'] : []),
  ]
  // npm runs its scripts in the checkout. INIT_CWD is the folder in which the user called npm.
  const cwd = process.env.INIT_CWD || process.cwd()
  return runProgram('runtime', 'functions/src/hosts/local/audit-cli.ts', args, { cwd })
})
