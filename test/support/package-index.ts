import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const PYTHON = fileURLToPath(new URL('../../python-runner/.venv/bin/python', import.meta.url))
const SCRIPT = fileURLToPath(new URL('../python-runner/support/serve_packages.py', import.meta.url))

/** A package that consists of these files. By default, it has a module of its name with its `VERSION`. */
export type ServedPackage = {
  readonly name: string
  readonly version?: string
  readonly files?: Readonly<Record<string, string>>
  readonly requires?: readonly string[]
}

/** An index of packages on this machine, until it is disposed of. `url` is a value for `TOOLRACK_PACKAGES_INDEX`. */
export async function packageIndex(packages: readonly ServedPackage[]) {
  const server = spawn(PYTHON, ['-I', '-B', SCRIPT], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(server, 'exit')
  server.stdin.write(`${JSON.stringify(packages)}\n`)
  const [url] = (await once(createInterface(server.stdout), 'line')) as [string]
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.stdin.end()
      await ended
    },
  }
}
