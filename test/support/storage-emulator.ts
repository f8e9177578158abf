import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from './temporary-folder.ts'

const PROGRAM = fileURLToPath(new URL('storage-emulator.mjs', import.meta.url))

/** The Storage emulator of firebase-tools, as a process with files of its own. */
export class StorageEmulator implements AsyncDisposable {
  readonly address: string
  readonly #end: () => Promise<void>

  private constructor(address: string, end: () => Promise<void>) {
    this.address = address
    this.#end = end
  }

  static async start(): Promise<StorageEmulator> {
    const folder = temporaryFolder()
    const env = { ...process.env, TMPDIR: folder.path, NO_UPDATE_NOTIFIER: '1' }
    const child = spawn(process.execPath, ['--disable-warning=DEP0040', PROGRAM], {
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const ended = once(child, 'exit')
    const [port] = (await once(child.stdout, 'data')) as [Buffer]
    return new StorageEmulator(`127.0.0.1:${Number(port.toString())}`, async () => {
      child.stdin.end()
      await ended
      folder[Symbol.dispose]()
    })
  }

  /** The names of all objects in a bucket, in their order. */
  async objects(bucket: string): Promise<readonly string[]> {
    const headers = { Authorization: 'Bearer owner' }
    const url = `http://${this.address}/storage/v1/b/${bucket}/o?maxResults=100000`
    const answer = (await (await fetch(url, { headers })).json()) as { items?: { name: string }[] }
    return (answer.items ?? []).map(({ name }) => name)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#end()
  }
}
