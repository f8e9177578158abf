import { join } from 'node:path'
import { prepare, root } from './toolchain/checkout.mjs'
import { stopSignal } from './toolchain/child.mjs'
import { preparePython } from './toolchain/python-environment.mjs'
import { runCommand } from './toolchain/setup-error.mjs'
import { supervise } from './toolchain/supervise.mjs'

/** `npm start`: runs the service, and starts it again if it dies. Without Python, it lists tools but runs no Python tools. */
await runCommand(async () => {
  const node = await prepare('runtime')
  const { python, missing } = await preparePython('runtime')
  const runner = python ? `--python=${python}` : `--no-python=${missing}`
  const args = [join(root, 'functions/src/local.ts'), '--parent-pipe=3', runner, ...process.argv.slice(2)]
  return supervise(node, args, { signal: stopSignal() })
})
