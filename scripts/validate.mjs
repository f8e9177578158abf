import { readArguments } from './toolchain/arguments.mjs'
import { runProgram } from './toolchain/checkout.mjs'
import { runCommand } from './toolchain/setup-error.mjs'

const command = {
  name: 'validate',
  about: `Checks a folder of definition files as the service reads it: by default the folder that TOOLRACK_DEFS_DIR names,
or the one that comes with the service. The exit code is 1 if a definition would not be served.`,
  words: { is: 'folder', most: 1 },
}

/** `npm run validate -- [folder]` */
await runCommand(() => {
  const { words } = readArguments(command)
  return runProgram('runtime', 'functions/src/hosts/local/validate-cli.ts', words)
})
