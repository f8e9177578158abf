import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, runWithNode } from './checkout.mjs'
import { runChild } from './child.mjs'
import { deepSuites, packageSuites } from './deep-suites.mjs'
import { jestOutcome, pytestOutcome } from './test-report.mjs'

export const pythonTests = 'test/python-runner'

export const jest = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js']

/** `-P` keeps Python from importing files of the checkout's root. With `--rootdir`, printed paths can be passed to `npm test`. */
export const pytest = ['-P', '-m', 'pytest', '--rootdir=.', '-c', 'python-runner/pyproject.toml']

/**
 * With these arguments pytest runs its files in two processes, because its tests wait most of their time. Faulthandler is
 * off, because it would print the stack of each child that a test ends by a signal.
 */
export const sideBySide = ['-n', '2', '--dist', 'loadfile', '-p', 'no:faulthandler']

/** The arguments of pytest for all suites that need no package index, with `isQuick` without the deep ones. */
export function pythonSuites({ isQuick }) {
  const left = [...packageSuites, ...(isQuick ? deepSuites : [])].filter((path) =>
    path.startsWith(pythonTests),
  )
  return [pythonTests, ...left.map((path) => `--ignore=${path}`)]
}

/** True if the arguments of `npm test` name Python tests. Then all arguments are for pytest. */
export function namePythonTests(args) {
  return args.some((arg) => arg.replace(/^\.\//, '').startsWith(pythonTests))
}

/** The suites of jest that need a package index. */
export const jestPackageSuites = packageSuites.filter((path) => !path.startsWith(pythonTests))

/** The same suites of pytest. */
export const pythonPackageSuites = packageSuites.filter((path) => path.startsWith(pythonTests))

/**
 * Runs jest. With `isQuick`, `deepSuites` are left out, and with `isWhole` the suites that need a package index. Resolves to
 * `outcome`, `interruptedBy`, and `missing`: sentences about the suites that this machine cannot run.
 */
export function runJest(node, args, { ci, isQuick = false, isWhole = false }) {
  return inTestFolder(async (folder, env) => {
    const resultPath = join(folder, 'jest.json')
    const flags = ['--json', `--outputFile=${resultPath}`, ...(ci ? ['--ci'] : [])]
    // Each of the many servers of the tests keeps its compiled code for the next server.
    const cached = {
      ...env,
      NODE_COMPILE_CACHE: join(folder, 'compiled'),
      // Read by jest.config.mjs.
      TOOLRACK_TEST_QUICK: String(isQuick),
      TOOLRACK_TEST_WHOLE: String(isWhole),
    }
    const { code, interruptedBy } = await runWithNode(node, [...jest, ...flags, ...args], { env: cached })
    return { interruptedBy, outcome: jestOutcome(readJson(resultPath), code) }
  })
}

/** Runs pytest in the runner's environment. Resolves to the fields of `runJest`; with the options `quiet` also to `output`. */
export function runPytest(python, args, { isQuick = false, ...options } = {}) {
  return inTestFolder(async (folder, testEnv) => {
    // Read by test/python-runner/support/quick.py.
    const env = { ...testEnv, TOOLRACK_TEST_QUICK: String(isQuick) }
    const resultPath = join(folder, 'pytest.xml')
    const all = [...pytest, `--junitxml=${resultPath}`, ...args]
    const { code, interruptedBy, output } = await runChild(python, all, { cwd: root, env, ...options })
    const xml = existsSync(resultPath) ? readFileSync(resultPath, 'utf8') : ''
    return { interruptedBy, outcome: pytestOutcome(xml, code), output }
  })
}

/** Calls `run` with a temporary folder. A suite that cannot run here appends the reason to the file TOOLRACK_TEST_MISSING. */
async function inTestFolder(run) {
  const folder = mkdtempSync(join(tmpdir(), 'toolrack-test-'))
  try {
    const missingPath = join(folder, 'missing')
    writeFileSync(missingPath, '')
    const found = await run(folder, { ...process.env, TOOLRACK_TEST_MISSING: missingPath })
    const lines = readFileSync(missingPath, 'utf8').split('\n')
    return { ...found, missing: lines.map((line) => line.trim()).filter((line) => line !== '') }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The JSON of jest; undefined if jest was stopped before it wrote its result. */
function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
