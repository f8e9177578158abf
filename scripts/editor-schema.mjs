import { readArguments } from './toolchain/arguments.mjs'
import { runProgram } from './toolchain/checkout.mjs'
import { runCommand } from './toolchain/setup-error.mjs'

const command = {
  name: 'editor-schema',
  about: `Writes functions/workflows/tools/tool-definitions.schema.json again, by which editors check definition files.
Run it after a change of the shape of a definition.`,
}

/** `npm run editor-schema` */
await runCommand(() => {
  readArguments(command)
  return runProgram('runtime', 'functions/src/stores/files/editor-schema.ts')
})
