#!/usr/bin/env node
import { prepare, preparePython, root, runWithNode } from './toolchain/checkout.mjs'
import { runChild } from './toolchain/child.mjs'
import { pythonFolders } from './toolchain/python-checks.mjs'
import { runCommand } from './toolchain/setup-failure.mjs'

/** `npm run format`: rewrites every file, or those named, the way `npm run check` wants them. */
await runCommand(async () => {
  const node = await prepare('full')
  const named = process.argv.slice(2)
  if (named.length === 0) return formatAll(node, ['.'], pythonFolders)
  return formatAll(
    node,
    named.filter((path) => !isPython(path)),
    named.filter(isPython),
  )
})

function isPython(path) {
  return /\.pyi?$/.test(path)
}

async function formatAll(node, paths, pythonPaths) {
  const codes = [0]
  if (paths.length > 0) {
    const args = ['node_modules/prettier/bin/prettier.cjs', '--write', ...paths]
    codes.push((await runWithNode(node, args, { cwd: root })).code)
  }
  if (pythonPaths.length > 0) codes.push(await formatPython(pythonPaths))
  return Math.max(...codes)
}

async function formatPython(paths) {
  const { python, missing } = await preparePython('full')
  if (python) return (await runChild(python, ['-m', 'ruff', 'format', ...paths], { cwd: root })).code
  process.stderr.write(`The Python code was not formatted. ${missing}\n`)
  return 1
}
