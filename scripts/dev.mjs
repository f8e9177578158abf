import { prepare } from './toolchain/checkout.mjs'
import { stopSignal } from './toolchain/child.mjs'
import { devSession } from './toolchain/dev-session.mjs'
import { preparePython } from './toolchain/python-environment.mjs'
import { runCommand } from './toolchain/setup-error.mjs'

/** `npm run dev`: the functions on the Firebase emulators, and the Python runner beside them. */
await runCommand(async () => {
  const node = await prepare('full')
  const python = await preparePython('runtime')
  return devSession(node, python, stopSignal())
})
