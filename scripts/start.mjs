#!/usr/bin/env node
import { join } from 'node:path'
import { prepare, preparePython, root, runWithNode } from './toolchain/checkout.mjs'
import { runCommand } from './toolchain/setup-failure.mjs'

/**
 * `npm start`. The service is told which Python its runner has, or why there is none: it lists either way. It gets a pipe
 * on descriptor 3 that nobody writes to: it closes when this process ends, even by SIGKILL, and the service ends with it.
 */
await runCommand(async () => {
  const node = await prepare('runtime')
  const { python, missing } = await preparePython('runtime')
  const runner = python ? `--python=${python}` : `--no-python=${missing}`
  const args = [join(root, 'functions/src/local.ts'), '--lifeline=3', runner, ...process.argv.slice(2)]
  const { code } = await runWithNode(node, args, {
    cwd: root,
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    onSpawn: dropLifelineAfterExit,
  })
  return code
})

/** Whatever the service started may have inherited the pipe; its end alone is what we wait for. */
function dropLifelineAfterExit(child) {
  const [, , , lifeline] = child.stdio
  lifeline.on('error', () => {})
  child.once('exit', () => lifeline.destroy())
}
