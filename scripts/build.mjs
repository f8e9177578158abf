import { readArguments } from './toolchain/arguments.mjs'
import { buildClient } from './toolchain/build-client.mjs'
import { buildFunctions } from './toolchain/build-functions.mjs'
import { byHand } from './toolchain/by-hand.mjs'
import { prepare } from './toolchain/checkout.mjs'
import { writeLocalSecrets } from './toolchain/emulators.mjs'
import { runCommand } from './toolchain/setup-error.mjs'

const command = {
  name: 'build',
  about: `Bundles the functions with the file layer into functions/dist, ready to upload, and the client with its types into
packages/client/dist, ready to pack.`,
}

/**
 * `npm run build`: writes `functions/dist`, ready to upload, and `packages/client/dist`, ready to pack. Also writes the secrets that
 * `firebase emulators:start` needs. `firebase deploy` runs this command as its predeploy step.
 */
await runCommand(async () => {
  readArguments(command)
  const node = await prepare('full')
  try {
    await buildFunctions(node)
    await buildClient(node)
    writeLocalSecrets(node)
    // firebase-tools sets RESOURCE_DIR for a predeploy.
    if (!process.env.RESOURCE_DIR) process.stdout.write(byHand(node))
    return 0
  } catch (err) {
    if (!Array.isArray(err.errors)) throw err
    return 1 // esbuild has printed the errors
  }
})
