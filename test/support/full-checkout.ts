import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fingerprint, writeStamp } from '../../scripts/toolchain/install.mjs'
import { processesWith } from '../../scripts/toolchain/kept-processes.mjs'
import { freePorts } from '../../scripts/toolchain/ports.mjs'
import { ROOT } from './source-tree.ts'

const repository = fileURLToPath(ROOT)
const LEFT_OUT = new Set([
  'node_modules',
  '.venv',
  '.mypy_cache',
  '.git',
  '.toolrack',
  'dist',
  'test',
  'bench',
  'docs',
  '.secret.local',
])

type Emulators = Record<string, { port?: number; websocketPort?: number }>

/** A copy of the whole checkout in another folder, installed, with its emulators on free ports. */
export class FullCheckout implements AsyncDisposable {
  readonly root = mkdtempSync(join(tmpdir(), 'toolrack-checkout-'))
  readonly #mark = randomUUID()
  #child: ChildProcess | undefined
  #output = ''

  constructor() {
    // The checkout itself may have any name, also one of those that are left out.
    const isCopied = (path: string): boolean =>
      relative(repository, path) === '' || !LEFT_OUT.has(basename(path))
    cpSync(repository, this.root, { recursive: true, filter: isCopied })
    linkPackages(join(repository, 'node_modules'), join(this.root, 'node_modules'))
    linkPackages(join(repository, 'functions/node_modules'), join(this.root, 'functions/node_modules'))
    linkPython(join(repository, 'python-runner/.venv'), join(this.root, 'python-runner/.venv'))
    const node = join(this.root, 'scripts/node')
    // The default is the Node that runs the tests, which is the pinned one.
    writeStamp(join(node, 'node_modules'), fingerprint([join(node, 'package-lock.json')]))
    writeStamp(join(this.root, 'node_modules'), fingerprint([join(this.root, 'package-lock.json')]))
  }

  /** Copies the packages of the runner. A call is confined to the folder of its Python, where it cannot follow links to elsewhere. */
  copyPython(): void {
    const lib = 'python-runner/.venv/lib'
    rmSync(join(this.root, lib))
    cpSync(join(repository, lib), join(this.root, lib), { recursive: true, filter: isOfRunner })
    // Calls run under accounts of their own.
    chmodSync(this.root, 0o755)
  }

  /** Gives every emulator a free port. Returns the port of Hosting. */
  async takePorts(): Promise<number> {
    const path = join(this.root, 'firebase.json')
    const config = JSON.parse(readFileSync(path, 'utf8')) as { emulators: Emulators }
    const emulators = Object.values(config.emulators).filter(({ port }) => port !== undefined)
    const [websocketPort = 0, ...ports] = await freePorts(emulators.length + 1)
    for (const [index, emulator] of emulators.entries()) Object.assign(emulator, { port: ports[index] })
    Object.assign(config.emulators['firestore'] ?? {}, { websocketPort })
    writeFileSync(path, JSON.stringify(config))
    return config.emulators['hosting']?.port ?? 0
  }

  /** Runs one of the scripts. */
  run(
    script: string,
    { args = [], env = {} }: { args?: readonly string[]; env?: NodeJS.ProcessEnv } = {},
  ): void {
    this.#spawn(process.execPath, [join(this.root, 'scripts', script), ...args], env)
  }

  /** Runs one command line that begins with settings of variables or with a program. */
  runLine(line: string, env: NodeJS.ProcessEnv = {}): void {
    this.#spawn('sh', ['-c', `exec env ${line}`], env)
  }

  #spawn(command: string, args: readonly string[], env: NodeJS.ProcessEnv): void {
    this.#output = ''
    const child = spawn(command, args, {
      cwd: this.root,
      env: { ...process.env, ...env, TEST_MARK: this.#mark },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text
        child.emit('said')
      })
    this.#child = child
  }

  get output(): string {
    return this.#output
  }

  /** Resolves to the match of the pattern in the output. Rejects if the script ends before there is one. */
  async said(pattern: RegExp): Promise<RegExpExecArray> {
    const ended = this.ended().then(() => true)
    for (;;) {
      const found = pattern.exec(this.#output)
      if (found) return found
      const isEnd = await Promise.race([once(this.#running, 'said').then(() => false), ended])
      if (isEnd && !pattern.test(this.#output)) throw new Error(`it ended and said: ${this.#output}`)
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#running.kill(signal)
  }

  async ended(): Promise<number | null> {
    const child = this.#running
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
    return child.exitCode
  }

  /** The running processes of the script, including its own. */
  processes(): readonly number[] {
    return processesWith(`TEST_MARK=${this.#mark}`)
  }

  get #running(): ChildProcess {
    if (!this.#child) throw new Error('nothing was run')
    return this.#child
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pid of this.processes()) process.kill(pid, 'SIGKILL')
    if (this.#child) await this.ended()
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** False for the large packages that only the runner's checks need. */
function isOfRunner(path: string): boolean {
  return !/\/(?:mypy|mypyc|pip|pygments|setuptools)$|mypyc\./.test(path)
}

/** A folder of links. An installation or a stamp there does not change the original. */
function linkPackages(source: string, folder: string): void {
  mkdirSync(folder)
  for (const name of readdirSync(source)) {
    if (name !== '.toolrack-stamp') symlinkSync(join(source, name), join(folder, name))
  }
}

/** The runner's environment. Its stamp is valid in the copy too, because the locks and the interpreter are the same. */
function linkPython(source: string, folder: string): void {
  if (!existsSync(source)) return
  linkPackages(source, folder)
  copyFileSync(join(source, '.toolrack-stamp'), join(folder, '.toolrack-stamp'))
}
