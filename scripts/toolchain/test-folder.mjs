import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A folder for what a run of tests writes. A suite that cannot run on this machine appends a sentence to the file that
 * `TOOLRACK_TEST_MISSING` names; `missing()` gives each sentence once.
 */
export function testFolder() {
  const path = mkdtempSync(join(tmpdir(), 'toolrack-test-'))
  const missingPath = join(path, 'missing')
  writeFileSync(missingPath, '')
  return {
    path,
    env: { ...process.env, TOOLRACK_TEST_MISSING: missingPath },
    missing: () => sentences(missingPath),
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}

function sentences(path) {
  const lines = readFileSync(path, 'utf8').split('\n')
  return [...new Set(lines.map((line) => line.trim()).filter((line) => line !== ''))]
}
