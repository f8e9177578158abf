#!/usr/bin/env node
import { prepare, root } from './toolchain/checkout.mjs'
import { devSession } from './toolchain/dev-session.mjs'
import { preparePython } from './toolchain/python-environment.mjs'
import { runCommand } from './toolchain/setup-error.mjs'

/** `npm run dev`: the functions on the Firebase emulators, and the Python runner beside them. */
await runCommand(async () => {
  const node = await prepare('full')
  const python = await preparePython('runtime')
  const end = new AbortController()
  // The listeners stay: under npm one Ctrl-C arrives twice.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => end.abort())
  return devSession(root, node, python, end.signal)
})
