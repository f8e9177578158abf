#!/usr/bin/env node
import { join } from 'node:path'
import { prepare, preparePython, root } from './toolchain/checkout.mjs'
import { runCommand } from './toolchain/setup-failure.mjs'
import { supervise } from './toolchain/supervise.mjs'

/**
 * `npm start`. The service is told which Python its runner has, or why there is none: it lists either way. This process
 * runs nothing that users bring, and starts the service again when it has died.
 */
await runCommand(async () => {
  const node = await prepare('runtime')
  const { python, missing } = await preparePython('runtime')
  const runner = python ? `--python=${python}` : `--no-python=${missing}`
  const args = [join(root, 'functions/src/local.ts'), '--parent-pipe=3', runner, ...process.argv.slice(2)]
  const end = new AbortController()
  // They stay: one key press arrives twice under npm, and the second time this process may be about to leave.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => end.abort())
  return supervise(node, args, { cwd: root, signal: end.signal })
})
