import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodePackages } from '../../../scripts/toolchain/pinned-node.mjs'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const fixtures = fileURLToPath(new URL('../fixtures', import.meta.url))
const nodePackage = nodePackages[`${process.platform}-${process.arch}`] ?? 'none'

interface PythonCall {
  readonly pid: number
  readonly line: string
}

interface NpmCall {
  readonly pid: number
  readonly isForNode: boolean
  readonly flags: string
}

/** A small checkout in a temporary folder with the real scripts, and with replacements for npm, Python and the service. */
export interface Checkout extends Disposable {
  readonly root: string
  readonly npmCalls: () => NpmCall[]
  /** The environments that were made, what was installed into them, and by which process. */
  readonly pythonCalls: () => PythonCall[]
  /** Arguments that only the replaced service knows (`--exit=0`, `--tell`, `--die`, …) reach it by its environment. */
  readonly run: (
    script: string,
    args?: readonly string[],
    fakeNpm?: 'works' | 'fails' | 'leaves out' | 'installs nothing' | 'hangs' | 'waits',
    fakePython?: 'works' | 'old' | 'no venv' | 'fails' | 'fails with packages' | 'hangs',
    env?: Readonly<Record<string, string>>,
  ) => Run
  /** Another Python, which is used only if `env` names it. */
  readonly otherPython: string
}

export interface Run {
  readonly child: ChildProcessWithoutNullStreams
  readonly output: () => string
  /** Resolves when the output contains the text. Rejects if the program ends before. */
  readonly said: (text: string) => Promise<void>
  /** Resolves when the program itself has ended. A child of it may still run. */
  readonly exited: () => Promise<void>
  /** Resolves to the exit code when the output is closed: neither the program nor a child of it holds it open. */
  readonly ended: () => Promise<number | null>
}

export function makeCheckout(): Checkout {
  const root = mkdtempSync(join(tmpdir(), 'toolrack-checkout-'))
  const npmLog = join(root, 'npm.log')
  const pythonLog = join(root, 'python.log')
  const python = join(root, 'python3.13')
  const otherPython = join(root, 'python3.12')
  const runs: Run[] = []
  writeCheckout(root)
  writePython(python)
  writePython(otherPython)
  return {
    root,
    otherPython,
    npmCalls: () => readCalls<NpmCall>(npmLog),
    pythonCalls: () => readCalls<PythonCall>(pythonLog),
    run: (script, args = [], fakeNpm = 'works', fakePython = 'works', env = {}) => {
      const forService = args.filter((arg) => /^--(?:exit=|tell$|die$|settings$|needs=)/.test(arg))
      const forScript = args.filter((arg) => !forService.includes(arg))
      const run = runScript(join(root, 'scripts', script), forScript, {
        ...process.env,
        FAKE_SERVICE: forService.join(' '),
        npm_execpath: join(fixtures, 'npm-cli.js'),
        FAKE_NPM: fakeNpm,
        FAKE_NPM_LOG: npmLog,
        FAKE_NPM_NODE: nodePackage,
        TOOLRACK_PYTHON: python,
        FAKE_PYTHON: fakePython,
        FAKE_PYTHON_LOG: pythonLog,
        ...env,
      })
      runs.push(run)
      return run
    },
    [Symbol.dispose]: () => {
      // Only a failed test leaves a program running. It must not delay the end of the whole run.
      for (const { child } of runs) child.kill()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

function writeCheckout(root: string): void {
  const source = join(repository, 'scripts')
  cpSync(source, join(root, 'scripts'), {
    recursive: true,
    filter: (path) => !path.includes('node_modules') && !path.endsWith('.log'),
  })
  for (const folder of ['functions/src', 'packages/contract', 'bench/cases', 'python-runner']) {
    mkdirSync(join(root, folder), { recursive: true })
  }
  cpSync(join(fixtures, 'local.ts'), join(root, 'functions/src/local.ts'))
  writeFileSync(join(root, 'bench/cases/list.ts'), '')
  writeFileSync(join(root, 'bench/main.ts'), `process.stdout.write('bench ran')\n`)
  const manifest = { name: 'small', type: 'module', workspaces: ['packages/*', 'functions'] }
  writeFileSync(join(root, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(root, 'package-lock.json'), '{"packages":{"":{},"functions":{},"packages/contract":{}}}')
  writeFileSync(join(root, 'functions/package.json'), '{"name":"functions","type":"module"}')
  for (const lock of ['requirements.txt', 'requirements-dev.txt'])
    writeFileSync(join(root, 'python-runner', lock), lock)
  writeFileSync(join(root, 'packages/contract/package.json'), '{"name":"@small/contract"}')
}

function writePython(path: string): void {
  const command = [process.execPath, join(fixtures, 'python.mjs')].map((part) => `'${part}'`).join(' ')
  writeFileSync(path, `#!/bin/sh\nexec ${command} '${path}' "$@"\n`, { mode: 0o755 })
}

function readCalls<T>(log: string): T[] {
  if (!existsSync(log)) return []
  // What follows the last line end is a line that is being written.
  const lines = readFileSync(log, 'utf8').split('\n').slice(0, -1)
  return lines.map((line): T => JSON.parse(line))
}

function runScript(path: string, args: readonly string[], env: NodeJS.ProcessEnv): Run {
  const child = spawn(process.execPath, [path, ...args], { env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      child.emit('output')
    })
  }
  const exited = once(child, 'exit')
  const closed = once(child, 'close')

  async function said(text: string): Promise<void> {
    while (!output.includes(text)) {
      const ended = await Promise.race([once(child, 'output').then(() => false), closed.then(() => true)])
      if (ended && !output.includes(text)) throw new Error(`it ended without saying "${text}": ${output}`)
    }
  }

  return {
    child,
    output: () => output,
    said,
    exited: async () => void (await exited),
    ended: async () => closed.then(() => child.exitCode),
  }
}
