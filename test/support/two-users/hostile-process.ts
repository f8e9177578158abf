import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Attack } from './attacks.ts'

const PROGRAM = fileURLToPath(new URL('run-attack.ts', import.meta.url))

/** Runs an attack during some work. The attack runs in another process, so that it does not slow the measuring process. */
export function beside<T>(
  attack: Attack,
  { url, token }: { readonly url: string; readonly token: string },
  work: () => Promise<T>,
): Promise<T> {
  return besideAll(attack, { url, tokens: [token] }, work)
}

/** Runs an attack of several users at the same time during some work, which begins when all of them have begun. */
export async function besideAll<T>(
  attack: Attack,
  { url, tokens }: { readonly url: string; readonly tokens: readonly string[] },
  work: () => Promise<T>,
): Promise<T> {
  const children = tokens.map((token) => {
    const child = fork(PROGRAM, [url, token, attack.name], {
      execArgv: ['--disable-warning=ExperimentalWarning'],
    })
    return { child, exited: once(child, 'exit') }
  })
  try {
    await Promise.all(
      children.map(({ child, exited }) =>
        Promise.race([
          once(child, 'message'),
          exited.then(() => {
            throw new Error(`the attack '${attack.name}' ended before it began`)
          }),
        ]),
      ),
    )
    const result = await work()
    if (children.some(({ child }) => child.exitCode !== null))
      throw new Error(`the attack '${attack.name}' ended too early`)
    return result
  } finally {
    for (const { child } of children) child.kill('SIGKILL')
    await Promise.all(children.map(({ exited }) => exited))
  }
}
