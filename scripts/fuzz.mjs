#!/usr/bin/env node
import { prepare, preparePython, root, runWithNode } from './toolchain/checkout.mjs'
import { exitCodeOf, runChild } from './toolchain/child.mjs'
import { fuzzHelp, fuzzPlan, fuzzProgram } from './toolchain/fuzz-plan.mjs'
import { runCommand, SetupFailure } from './toolchain/setup-failure.mjs'

/** `npm run fuzz`: attacks made up at random, each kind by a program of its own, one after the other. Fails if one found something. */
await runCommand(async () => {
  const plan = fuzzPlan(process.argv.slice(2))
  if (plan.isHelp) {
    process.stdout.write(fuzzHelp)
    return 0
  }
  const node = await prepare('full')
  const python = await preparePython('full')

  const found = []
  for (const kind of plan.kinds) {
    const program = fuzzProgram(root, kind, plan.options)
    if (program.isPython && python.missing) throw new SetupFailure(`The kind ${kind}: ${python.missing}`)
    const { code, interruptedBy } = program.isPython
      ? await runChild(python.python, program.args, {
          cwd: program.cwd,
          env: { ...process.env, ...program.env },
        })
      : await runWithNode(node, program.args, { cwd: program.cwd })
    if (interruptedBy) return exitCodeOf(interruptedBy)
    if (code !== 0) found.push(kind)
  }
  process.stdout.write(found.length > 0 ? `Found something: ${found.join(', ')}\n` : 'Nothing was found\n')
  return found.length > 0 ? 1 : 0
})
