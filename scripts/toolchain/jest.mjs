import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, runWithNode } from './checkout.mjs'

/**
 * Runs jest on the pinned Node and hands back its counts. A suite that cannot run on this machine appends a sentence to
 * the file that `TOOLRACK_TEST_MISSING` names; those are handed back as `missing`.
 */
export async function runJest(node, args, { ci }) {
  const folder = mkdtempSync(join(tmpdir(), 'toolrack-test-'))
  const resultPath = join(folder, 'jest.json')
  const missingPath = join(folder, 'missing')
  writeFileSync(missingPath, '')
  try {
    const jest = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js']
    const flags = ['--json', `--outputFile=${resultPath}`, ...(ci ? ['--ci'] : [])]
    const { code, interruptedBy } = await runWithNode(node, [...jest, ...flags, ...args], {
      cwd: root,
      env: { ...process.env, TOOLRACK_TEST_MISSING: missingPath },
    })
    return { code, interruptedBy, jest: readResult(resultPath), missing: readSentences(missingPath) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function readResult(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined // jest was stopped before it could write
  }
}

function readSentences(path) {
  const lines = readFileSync(path, 'utf8').split('\n')
  return [...new Set(lines.map((line) => line.trim()).filter((line) => line !== ''))]
}
