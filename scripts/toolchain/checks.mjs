import { root, runWithNode } from './checkout.mjs'
import { runChild } from './child.mjs'
import { lockFileProblems } from './lock-files.mjs'
import { pythonChecks } from './python-checks.mjs'
import { pythonLockProblems } from './python-locks.mjs'

const nodeChecks = [
  { name: 'lint', args: ['node_modules/oxlint/bin/oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'types', args: ['node_modules/typescript/bin/tsc', '--noEmit'] },
  { name: 'format', args: ['node_modules/prettier/bin/prettier.cjs', '--check', '--log-level=warn', '.'] },
]

/**
 * Runs every check even when one fails; resolves to the names of those that did, and to a signal that cut it short. The
 * Python code is checked where there is a Python.
 */
export async function runChecks(node, { python }) {
  const programs = [
    ...nodeChecks.map(({ name, args }) => ({ name, run: () => runWithNode(node, args, { cwd: root }) })),
    ...(python ? pythonChecks : []).map(({ name, args }) => ({
      name,
      run: () => runChild(python, args, { cwd: root }),
    })),
  ]
  const failed = []
  for (const { name, run } of programs) {
    const { code, interruptedBy } = await run()
    if (interruptedBy) return { failed, interruptedBy }
    if (code !== 0) failed.push(name)
  }
  return { failed: [...failed, ...checkLocks()] }
}

function checkLocks() {
  const problems = lockFileProblems(root)
  const pythonProblems = pythonLockProblems(root)
  for (const problem of [...problems, ...pythonProblems]) process.stderr.write(`${problem}\n`)
  if (problems.length > 0)
    process.stderr.write(
      'Renew them: npm install --package-lock-only, and in functions/ with --workspaces=false too\n',
    )
  if (pythonProblems.length > 0)
    process.stderr.write('Renew them in python-runner/ with the command in their first lines\n')
  return problems.length + pythonProblems.length > 0 ? ['lock files'] : []
}
