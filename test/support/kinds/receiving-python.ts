import type { JsonObject } from '@toolrack/contract'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { PYTHON, RUNNER } from '../runner-environment.ts'

const PROGRAM = fileURLToPath(new URL('../../python-runner/kinds/received.py', import.meta.url))

export type ToolReport = {
  readonly parameters?: JsonObject
  readonly kinds?: Readonly<Record<string, readonly string[]>>
  readonly faults: readonly unknown[]
}

/** What a handler receives: a kind and a text for each argument, no text for a value that is none. Or why it is not called. */
export type Received =
  | { readonly received: Readonly<Record<string, readonly [kind: string, text: string | null]>> }
  | { readonly refused: string }

/** A Python process that checks modules and converts arguments as the runner does. */
export function receivingPython() {
  const child = spawn(PYTHON, [PROGRAM], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, PYTHONPATH: RUNNER },
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  async function ask(question: object): Promise<unknown> {
    child.stdin.write(`${JSON.stringify(question)}\n`)
    const { value, done } = await lines.next()
    if (done) throw new Error('the Python process has ended')
    return JSON.parse(value) as unknown
  }
  return {
    load: (module: string, source: string) =>
      ask({ module, source }) as Promise<Readonly<Record<string, ToolReport>>>,
    call: (calls: readonly (readonly [tool: string, args: JsonObject])[]) =>
      ask({ calls }) as Promise<readonly Received[]>,
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      await once(child, 'close')
    },
  }
}
