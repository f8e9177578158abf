import { readArguments } from './toolchain/arguments.mjs'
import { exitCodeOf } from './toolchain/child.mjs'
import { checks, runPrograms } from './toolchain/checks.mjs'
import { prepare } from './toolchain/checkout.mjs'
import { preparePython } from './toolchain/python-environment.mjs'
import { runCommand } from './toolchain/setup-error.mjs'

const command = {
  name: 'check',
  about: 'Lint, format and types in both languages. npm test runs them too.',
}

/** `npm run check`: lint, types and format in both languages. */
await runCommand(async () => {
  readArguments(command)
  const node = await prepare('full')
  const { python, missing } = await preparePython('full')
  const { failed, interruptedBy } = await runPrograms(checks, node, python)
  if (interruptedBy) return exitCodeOf(interruptedBy)
  if (missing) process.stdout.write(`The Python code was not checked: ${missing}\n`)
  process.stdout.write(failed.length > 0 ? `Failed: ${failed.join(', ')}\n` : 'All checks passed\n')
  return failed.length > 0 || (missing && process.env.CI === 'true') ? 1 : 0
})
