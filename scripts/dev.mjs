#!/usr/bin/env node
import { prepare, preparePython, root } from './toolchain/checkout.mjs'
import { devSession } from './toolchain/dev-session.mjs'
import { runCommand } from './toolchain/setup-failure.mjs'

/** `npm run dev`: the functions on the Firebase emulators and the Python runner beside them, offline, with people to try them as. */
await runCommand(async () => {
  const node = await prepare('full')
  const python = await preparePython('runtime')
  const end = new AbortController()
  // One key press arrives twice under npm; a second press changes nothing either, for the end is under way.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => end.abort())
  return devSession(root, node, python, end.signal)
})
