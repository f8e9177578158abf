import { join } from 'node:path'
import { readArguments } from './toolchain/arguments.mjs'
import { prepare, root, runWithNode } from './toolchain/checkout.mjs'
import { runCommand } from './toolchain/setup-error.mjs'

const command = {
  name: 'example',
  about: `Runs a program of packages/client/examples against npm start: agent, list-tools (the default) or run-calls.
TOOLRACK_URL and TOOLRACK_TOKEN name another server.`,
  words: { is: 'example', most: Infinity, oneOf: ['agent', 'list-tools', 'run-calls'], rest: 'argument' },
}

/** `npm run example -- list-tools`: runs an example of the client against a running server. It uses the source of the client. */
await runCommand(async () => {
  const { words } = readArguments(command)
  const [name = 'list-tools', ...args] = words
  const path = join(root, 'packages/client/examples', `${name}.mjs`)
  const node = await prepare('runtime')
  return (await runWithNode(node, ['--conditions=@toolrack/source', path, ...args])).code
})
