#!/usr/bin/env node
import { join } from 'node:path'
import { prepare, root, runWithNode } from './toolchain/checkout.mjs'
import { runCommand } from './toolchain/setup-failure.mjs'

/**
 * `npm start`. The service gets a pipe on descriptor 3 that nobody writes to: it closes when this process ends, even by
 * SIGKILL, and the service ends with it.
 */
await runCommand(async () => {
  const node = await prepare('runtime')
  const args = [join(root, 'functions/src/local.ts'), '--lifeline=3', ...process.argv.slice(2)]
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
