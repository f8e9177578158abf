import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'

/**
 * Runs a script with `uv run --script` as a user does. Its cache keeps the environment and the bytecode for the next run. Resolves to what
 * the script printed.
 */
export async function uvRun(
  python: string,
  { cache, file }: { readonly cache: string; readonly file: string },
  ...args: readonly string[]
): Promise<string> {
  // With this variable, Python would compile pandas in each run.
  const { PYTHONDONTWRITEBYTECODE: _, ...env } = process.env
  const uv = join(dirname(python), 'uv')
  const options = ['run', '--quiet', '--no-project', '--python', python, '--script', file, ...args]
  const child = spawn(uv, options, {
    env: { ...env, UV_CACHE_DIR: cache },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  assert.equal(code, 0, `uv run ended with ${code}`)
  return printed
}
