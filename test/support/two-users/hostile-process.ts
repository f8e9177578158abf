import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Attack } from './attacks.ts'

const PROGRAM = fileURLToPath(new URL('run-attack.ts', import.meta.url))

/** Runs an attack during some work. The attack runs in another process, so that it does not slow the measuring process. */
export async function beside<T>(
  attack: Attack,
  { url, token }: { readonly url: string; readonly token: string },
  work: () => Promise<T>,
): Promise<T> {
  const child = fork(PROGRAM, [url, token, attack.name], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  const exited = once(child, 'exit')
  try {
    await Promise.race([
      once(child, 'message'),
      exited.then(() => {
        throw new Error(`the attack '${attack.name}' ended before it began`)
      }),
    ])
    return await work()
  } finally {
    child.kill('SIGKILL')
    await exited
  }
}
