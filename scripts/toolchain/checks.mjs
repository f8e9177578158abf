import { root, runWithNode } from './checkout.mjs'
import { lockFileProblems } from './lock-files.mjs'

const programs = [
  { name: 'lint', args: ['node_modules/oxlint/bin/oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'types', args: ['node_modules/typescript/bin/tsc', '--noEmit'] },
  { name: 'format', args: ['node_modules/prettier/bin/prettier.cjs', '--check', '--log-level=warn', '.'] },
]

/** Runs every check even when one fails; resolves to the names of those that did, and to a signal that cut it short. */
export async function runChecks(node) {
  const failed = []
  for (const { name, args } of programs) {
    const { code, interruptedBy } = await runWithNode(node, args, { cwd: root })
    if (interruptedBy) return { failed, interruptedBy }
    if (code !== 0) failed.push(name)
  }
  const problems = lockFileProblems(root)
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  if (problems.length > 0) {
    process.stderr.write(
      'Renew them: npm install --package-lock-only, and in functions/ with --workspaces=false too\n',
    )
    failed.push('lock files')
  }
  return { failed }
}
