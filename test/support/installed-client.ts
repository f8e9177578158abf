import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { buildClient } from '../../scripts/toolchain/build-client.mjs'
import { npmCommand } from '../../scripts/toolchain/npm.mjs'
import { ROOT } from './source-tree.ts'

const root = fileURLToPath(ROOT)
const run = promisify(execFile)

/** A new project with the client installed as it would be published: built and packed. The installation needs no network. */
export class InstalledClient implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'toolrack-client-'))
  readonly project = join(this.#folder, 'project')
  /** The name of the packed file. */
  tarball = ''
  private constructor() {}

  static async make(): Promise<InstalledClient> {
    const client = new InstalledClient()
    await client.#install()
    return client
  }

  /** The files of the package. */
  get files(): string[] {
    const folder = join(this.project, 'node_modules/@toolrack/client')
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
  }

  /** Writes a module into the project. */
  write(name: string, text: string): string {
    const path = join(this.project, name)
    writeFileSync(path, text)
    return path
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #install(): Promise<void> {
    const built = join(this.#folder, 'built')
    mkdirSync(this.project)
    for (const name of ['package.json', 'README.md', 'examples'])
      cpSync(join(root, 'packages/client', name), join(built, name), { recursive: true })
    await buildClient(process.execPath, join(built, 'dist'))
    writeFileSync(join(this.project, 'package.json'), '{"name":"app","private":true,"type":"module"}')
    await this.#npm(built, 'pack', '--ignore-scripts', '--pack-destination', this.#folder)
    this.tarball = readdirSync(this.#folder).find((name) => name.endsWith('.tgz')) ?? ''
    await this.#npm(
      this.project,
      'install',
      '--offline',
      '--no-audit',
      '--no-fund',
      join(this.#folder, this.tarball),
    )
  }

  #npm(cwd: string, ...args: readonly string[]) {
    const [command, ...rest] = npmCommand(process.execPath)
    return run(command, [...rest, ...args], { cwd })
  }
}
