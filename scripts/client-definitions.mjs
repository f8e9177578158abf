import { writeFileSync } from 'node:fs'
import { readArguments } from './toolchain/arguments.mjs'
import { runCommand } from './toolchain/setup-error.mjs'
import { standardDefinitionsPath, standardDefinitionsText } from './toolchain/standard-definitions.mjs'

const command = {
  name: 'client-definitions',
  about: 'Writes the definitions inside the client again. Run it after a change of cli.json or tasks.json.',
}

/** `npm run client-definitions` */
await runCommand(() => {
  readArguments(command)
  writeFileSync(standardDefinitionsPath, standardDefinitionsText())
  return 0
})
