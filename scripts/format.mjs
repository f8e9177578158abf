import { readArguments } from './toolchain/arguments.mjs'
import { prepare, root, runWithNode } from './toolchain/checkout.mjs'
import { pythonFolders } from './toolchain/checks.mjs'
import { runChild } from './toolchain/child.mjs'
import { preparePython } from './toolchain/python-environment.mjs'
import { runCommand } from './toolchain/setup-error.mjs'

const command = {
  name: 'format',
  about: 'Formats all files, or only the named ones, as npm run check requires.',
  words: { is: 'file', most: Infinity },
}

/** `npm run format [file …]`: formats the named files, or all files, as `npm run check` requires. */
await runCommand(async () => {
  const { words: named } = readArguments(command)
  const node = await prepare('full')
  const pythonPaths = named.length > 0 ? named.filter(isPython) : pythonFolders
  const otherPaths = named.length > 0 ? named.filter((path) => !isPython(path)) : ['.']
  const codes = [0]
  if (otherPaths.length > 0) {
    const args = ['node_modules/prettier/bin/prettier.cjs', '--write', ...otherPaths]
    codes.push((await runWithNode(node, args)).code)
  }
  if (pythonPaths.length > 0) codes.push(await formatPython(pythonPaths))
  return Math.max(...codes)
})

function isPython(path) {
  return /\.pyi?$/.test(path)
}

async function formatPython(paths) {
  const { python, missing } = await preparePython('full')
  if (python) return (await runChild(python, ['-m', 'ruff', 'format', ...paths], { cwd: root })).code
  process.stderr.write(`The Python code was not formatted. ${missing}\n`)
  return 1
}
