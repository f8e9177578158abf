import { existsSync, readFileSync } from 'node:fs'
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

/** Runs pytest in the runner's environment; resolves to its outcome and to what it says is missing on this machine. */
export async function runPytest(python, args) {
  const folder = testFolder()
  const resultPath = join(folder.path, 'pytest.xml')
  // Without -P the checkout itself would be a place that modules are imported from. Paths are printed relative to --rootdir:
  // like this they can be given back to `npm test`.
  const config = ['--rootdir=.', '-c', 'python-runner/pyproject.toml']
  const pytest = ['-P', '-m', 'pytest', ...config, `--junitxml=${resultPath}`]
  try {
    const { code, interruptedBy } = await runChild(
      python,
      [...pytest, ...(args.length > 0 ? args : [pythonTests])],
      { cwd: root, env: folder.env },
    )
    const xml = existsSync(resultPath) ? readFileSync(resultPath, 'utf8') : ''
    return { interruptedBy, outcome: pytestOutcome(xml, code), missing: folder.missing() }
  } finally {
    folder.remove()
  }
}
