import { prepare, root, runWithNode } from './toolchain/checkout.mjs'
import { exitCodeOf, runChild } from './toolchain/child.mjs'
import { fuzzPlan, fuzzProgram } from './toolchain/fuzz-plan.mjs'
import { preparePython } from './toolchain/python-environment.mjs'
import { runCommand, SetupError } from './toolchain/setup-error.mjs'

/** `npm run fuzz`: runs one program of random attacks for each kind, in sequence. The exit code is 1 if a program found something. */
await runCommand(async () => {
  const plan = fuzzPlan(process.argv.slice(2))
  const node = await prepare('full')
  const { python, missing } = await preparePython('full')

  const found = []
  for (const kind of plan.kinds) {
    const { isPython, args, cwd, env } = fuzzProgram(root, kind, plan.options)
    if (isPython && missing) throw new SetupError(`The kind ${kind}: ${missing}`)
    const { code, interruptedBy } = isPython
      ? await runChild(python, args, { cwd, env: { ...process.env, ...env } })
      : await runWithNode(node, args, { cwd })
    if (interruptedBy) return exitCodeOf(interruptedBy)
    if (code !== 0) found.push(kind)
  }
  process.stdout.write(found.length > 0 ? `Found something: ${found.join(', ')}\n` : 'Nothing was found\n')
  return found.length > 0 ? 1 : 0
})
