#!/usr/bin/env node
import { join } from 'node:path'
import { prepare, root } from './toolchain/checkout.mjs'
import { preparePython } from './toolchain/python-environment.mjs'
import { runCommand } from './toolchain/setup-error.mjs'
import { supervise } from './toolchain/supervise.mjs'

/** `npm start`: runs the service, and starts it again if it dies. Without a Python the service lists tools all the same. */
await runCommand(async () => {
  const node = await prepare('runtime')
  const { python, missing } = await preparePython('runtime')
  const runner = python ? `--python=${python}` : `--no-python=${missing}`
  const args = [join(root, 'functions/src/local.ts'), '--parent-pipe=3', runner, ...process.argv.slice(2)]
  const end = new AbortController()
  // The listeners stay: under npm one Ctrl-C arrives twice, the second time while this process may be ending.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => end.abort())
  return supervise(node, args, { cwd: root, signal: end.signal })
})
