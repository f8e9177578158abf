import { expect } from '@jest/globals'
import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { temporaryFolder } from './temporary-folder.ts'

export const hasCurl = spawnSync('curl', ['--version']).status === 0

/**
 * What each of the printed commands answers. All indented lines of the text are pasted in order into one shell, in another
 * folder than the checkout. Throws if a command fails, or if its answer is an error.
 */
export async function pasted(printed: string): Promise<readonly string[]> {
  using elsewhere = temporaryFolder()
  const lines = (printed.match(/^ {2}\S.*$/gm) ?? []).map((line) => line.trim())
  const tokens = lines.filter(isToken)
  const curls = lines.filter((line) => !isToken(line))
  expect(tokens.length).toBeGreaterThan(0)
  expect(curls.filter((line) => !line.startsWith('curl '))).toEqual([])
  const asked = curls.map((line) => `${line.replace('curl ', 'curl -sS --fail-with-body ')}; echo`)
  const script = [...tokens, ...asked].join('\n')
  const run = promisify(execFile)('sh', ['-ec', script], { cwd: elsewhere.path })
  const { stdout } = await run.catch((error: Error & { readonly stdout: string }) => {
    throw new Error(`${error.message}\n${error.stdout}`)
  })
  return stdout.split('\n').filter((line) => line !== '')
}

function isToken(line: string): boolean {
  return /^[A-Z]=\S+$/.test(line)
}
