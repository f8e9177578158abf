import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readArguments } from './toolchain/arguments.mjs'
import { prepare, root, runWithNode } from './toolchain/checkout.mjs'
import { addressesOf, demoProject } from './toolchain/emulators.mjs'
import { runCommand } from './toolchain/setup-error.mjs'

const command = {
  name: 'seed',
  about: `Writes the definition files of a folder into the global layer of the running emulators, or of a project. Without a
folder it writes the definitions that come with the service.`,
  options: { project: { takes: 'ID', about: 'the Firebase project, with the credentials on this machine' } },
  words: { is: 'folder', most: 1 },
}

/**
 * `npm run seed -- [folder] [--project id]`: writes the definition files of a folder into the global layer of the running
 * emulators, or of a project. For a project it uses the credentials on this machine.
 */
await runCommand(async () => {
  const { words, values } = readArguments(command)
  const [folder = join(root, 'functions/workflows/tools/defs')] = words
  const node = await prepare('runtime')
  const args = [join(root, 'functions/src/hosts/cloud/seed-cli.ts'), resolve(folder)]
  return (await runWithNode(node, args, { env: environment(values.project) })).code
})

/** The program's environment. With a project, it never writes to an emulator. Without a project, it writes only to one. */
function environment(project) {
  const { FIRESTORE_EMULATOR_HOST: host, ...env } = process.env
  if (project) return { ...env, GOOGLE_CLOUD_PROJECT: project }
  const { firestore } = addressesOf(JSON.parse(readFileSync(join(root, 'firebase.json'), 'utf8')))
  return { ...env, GOOGLE_CLOUD_PROJECT: demoProject, FIRESTORE_EMULATOR_HOST: host || firestore }
}
