import { availableParallelism } from 'node:os'
import { root, runWithNode } from './checkout.mjs'
import { quiet, runChild } from './child.mjs'
import { pythonTests } from './suites.mjs'

export const pythonFolders = ['python-runner', pythonTests, 'bench/python']

const mypy = ['-m', 'mypy', '--config-file=python-runner/pyproject.toml', '--no-error-summary']
const prettier = [
  'node_modules/prettier/bin/prettier.cjs',
  '--check',
  '--log-level=warn',
  '--cache',
  '--cache-strategy=content',
  '.',
]

const tsc = [
  'node_modules/typescript/bin/tsc',
  '--noEmit',
  '--incremental',
  '--tsBuildInfoFile',
  'node_modules/.cache/types.tsbuildinfo',
]

/** Programs for the pinned Node, or for the runner's Python. The slow programs come first, so that they run side by side. */
export const checks = [
  { name: 'Python types', isPython: true, args: [...mypy, ...pythonFolders] },
  { name: 'lint', args: ['node_modules/oxlint/bin/oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'format', args: prettier },
  { name: 'types', args: tsc },
  { name: 'Python lint', isPython: true, args: ['-m', 'ruff', 'check', '--quiet', ...pythonFolders] },
  {
    name: 'Python format',
    isPython: true,
    args: ['-m', 'ruff', 'format', '--quiet', '--check', ...pythonFolders],
  },
]

/**
 * Runs every program, as many at once as there are processors, even if one fails. Shows the output of a program only if
 * the program failed. Resolves to the names of the failed programs, and to the signal that ended the run early, if there
 * was one. Without `python` only the programs for Node run.
 */
export async function runPrograms(programs, node, python) {
  const waiting = programs.filter(({ isPython }) => python || !isPython)
  const failed = []
  let interruptedBy

  async function runWaiting() {
    while (waiting.length > 0 && interruptedBy === undefined) {
      const { name, isPython, args } = waiting.shift()
      const startedMs = performance.now()
      const end = isPython
        ? await runChild(python, args, { cwd: root, ...quiet })
        : await runWithNode(node, args, quiet)
      interruptedBy ??= end.interruptedBy
      if (end.code !== 0) {
        failed.push(name)
        process.stdout.write(end.output)
      }
      const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1)
      process.stdout.write(`${name}: ${end.code === 0 ? 'passed' : 'failed'} after ${seconds} s\n`)
    }
  }

  await Promise.all(Array.from({ length: availableParallelism() }, runWaiting))
  return { failed, interruptedBy }
}
