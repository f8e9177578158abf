import { readArguments } from './toolchain/arguments.mjs'
import { runProgram } from './toolchain/checkout.mjs'
import { runCommand } from './toolchain/setup-error.mjs'

const command = {
  name: 'http-reference',
  about: `Writes the tables of docs/reference/http.md again, from the routes and their schemas.
Run it after a change of a route or of its schemas.`,
}

/** `npm run http-reference` */
await runCommand(() => {
  readArguments(command)
  return runProgram('runtime', 'functions/src/features/http-reference.ts')
})
