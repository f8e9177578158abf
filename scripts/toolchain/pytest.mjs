import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './checkout.mjs'
import { runChild } from './child.mjs'
import { pythonTests } from './python-checks.mjs'
import { pytestOutcome } from './suite-outcome.mjs'
import { testFolder } from './test-folder.mjs'

/** Whether arguments of `npm test` name Python tests; then they are all for pytest. */
export function namePythonTests(args) {
  return args.some((arg) => arg.replace(/^\.\//, '').startsWith(pythonTests))
}

/**
 * Runs pytest in the runner's environment; resolves to its outcome and to what it says is missing on this machine. `isBeside` keeps
 * what it prints until the end, as `printed`: another suite prints meanwhile.
 */
export async function runPytest(python, args, { isBeside }) {
  const folder = testFolder()
  const printedPath = join(folder.path, 'printed')
  const resultPath = join(folder.path, 'pytest.xml')
  // Without -P the checkout itself would be a place that modules are imported from. Paths are printed relative to --rootdir:
  // like this they can be given back to `npm test`.
  const config = ['--rootdir=.', '-c', 'python-runner/pyproject.toml']
  const pytest = ['-P', '-m', 'pytest', ...config, `--junitxml=${resultPath}`]
  const printedTo = isBeside ? openSync(printedPath, 'w') : 'inherit'
  try {
    const { code, interruptedBy } = await runChild(
      python,
      [...pytest, ...(args.length > 0 ? args : [pythonTests])],
      { cwd: root, env: folder.env, stdio: ['inherit', printedTo, printedTo] },
    )
    const xml = existsSync(resultPath) ? readFileSync(resultPath, 'utf8') : ''
    const printed = isBeside ? readFileSync(printedPath, 'utf8') : ''
    return { interruptedBy, outcome: pytestOutcome(xml, code), missing: folder.missing(), printed }
  } finally {
    if (isBeside) closeSync(printedTo)
    folder.remove()
  }
}
