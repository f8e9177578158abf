import { spawn } from 'node:child_process'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const FRESH = fileURLToPath(new URL('../python/fresh.py', import.meta.url))

/** The input of `fresh.py`. */
export type FreshOrder = {
  readonly tool: string
  readonly arguments: unknown
} & ({ readonly folder: string } | { readonly source: string })

/** Makes one call in a new interpreter. Resolves when the answer is complete, which is before the process has ended. */
export async function callFreshInterpreter(python: string, order: FreshOrder): Promise<unknown> {
  const child = spawn(python, ['-I', FRESH], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(order))
  return JSON.parse((await buffer(child.stdout)).toString()) as unknown
}
