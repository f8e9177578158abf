import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, runWithNode } from './checkout.mjs'
import { jestOutcome } from './suite-outcome.mjs'
import { testFolder } from './test-folder.mjs'

/** Runs jest on the pinned Node; resolves to its outcome and to what it says is missing on this machine. */
export async function runJest(node, args, { ci }) {
  const folder = testFolder()
  const resultPath = join(folder.path, 'jest.json')
  try {
    const jest = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js']
    const flags = ['--json', `--outputFile=${resultPath}`, ...(ci ? ['--ci'] : [])]
    const { code, interruptedBy } = await runWithNode(node, [...jest, ...flags, ...args], {
      cwd: root,
      // What the many servers of the tests have compiled is kept for the next of them.
      env: { ...folder.env, NODE_COMPILE_CACHE: join(folder.path, 'compiled') },
    })
    return { interruptedBy, outcome: jestOutcome(readResult(resultPath), code), missing: folder.missing() }
  } finally {
    folder.remove()
  }
}

function readResult(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined // jest was stopped before it could write
  }
}
