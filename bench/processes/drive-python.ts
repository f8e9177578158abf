import { spawn } from 'node:child_process'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** Runs a program of `python/` that reads its order from standard input and prints its figures. */
export async function drivePython<T>(
  python: string,
  program: string,
  order: unknown,
  env: NodeJS.ProcessEnv = {},
): Promise<T> {
  const path = fileURLToPath(new URL(`../python/${program}`, import.meta.url))
  const child = spawn(python, [path], { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(order))
  return (await json(child.stdout)) as T
}
