import { afterAll, expect } from '@jest/globals'
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ListedTool } from '@toolrack/contract'
import { processesWith } from '../../scripts/toolchain/kept-processes.mjs'
import { descendantsOf, isAlive } from '../support/processes.ts'
import { withPython } from '../support/runner-environment.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const START = fileURLToPath(new URL('../../scripts/start.mjs', import.meta.url))
const BANNER = /is ready at (http:\S+) .*\ntoken: (\S+)\n[\s\S]*Ctrl-C stops the server\.\n/

const started = new Set<ChildProcess>()
afterAll(() => started.forEach((child) => child.kill('SIGKILL')))

/** `npm start` of this checkout on a free port, with data of its own. */
class NpmStart {
  readonly data = temporaryFolder()
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>
  output = ''
  #url = ''
  #token = ''

  private constructor() {
    const env = { ...process.env, PORT: '0', TOOLRACK_DATA: this.data.path, HOME: this.data.path }
    const child = spawn(process.execPath, [START], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    started.add(child)
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (this.output += text))
    this.#closed = once(child, 'close').then(() => started.delete(child))
    this.#child = child
  }

  static async ready(): Promise<NpmStart> {
    const run = new NpmStart()
    const [, url = '', token = ''] = await run.said(BANNER)
    run.#url = url
    run.#token = token
    return run
  }

  async said(pattern: RegExp): Promise<RegExpExecArray> {
    await until(
      () => Promise.resolve(this.output),
      (output) => pattern.test(output) || this.#child.exitCode !== null,
    )
    const found = pattern.exec(this.output)
    if (!found) throw new Error(`it ended and said: ${this.output}`)
    return found
  }

  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(this.#url + path, { headers: { Authorization: `Bearer ${this.#token}` }, ...init })
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get servicePid(): number {
    const [pid] = descendantsOf(this.pid)
    if (pid === undefined) throw new Error('there is no service')
    return pid
  }

  /** A test that failed may have left a service without a parent, which holds the output open. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL')
    for (const pid of processesWith(`TOOLRACK_DATA=${this.data.path}`)) process.kill(pid, 'SIGKILL')
    await this.#closed
    this.data[Symbol.dispose]()
  }
}

async function expectGone(pids: readonly number[]): Promise<void> {
  await until(
    () => Promise.resolve(pids.filter(isAlive)),
    (alive) => alive.length === 0,
  )
}

/** The names in the list, or none while nobody answers. */
async function names(service: NpmStart): Promise<readonly string[]> {
  const answer = await service.fetch('/workflows/tools/list').catch(() => undefined)
  const list = answer?.ok ? ((await answer.json()) as ListedTool[]) : []
  return list.map((listed) => listed.function.name)
}

function runnerReady(service: NpmStart): Promise<unknown> {
  return until(
    async () => {
      const answer = await service.fetch('/health').catch(() => undefined)
      return answer && ((await answer.json()) as { runner: { status: string } })
    },
    (health) => health?.runner.status === 'ready',
  )
}

function processorSeconds(pids: readonly number[]): Map<number, number> {
  const { stdout } = spawnSync('ps', ['-o', 'pid=,times=', '-p', pids.join()], { encoding: 'utf8' })
  const lines = stdout.trim().split('\n')
  return new Map(lines.map((line) => line.trim().split(/\s+/).map(Number) as [number, number]))
}

const MODULE = `
def echo(text: str) -> str:
    """Gives the text back."""
    while text == "for ever":
        pass
    return text


TOOL_SPECS = [{"name": "again:echo", "handler": echo}]
`

function invoke(service: NpmStart, text: string): Promise<Response> {
  return service.fetch('/workflows/tools/invoke', {
    method: 'POST',
    body: JSON.stringify({ name: 'again:echo', arguments: { text } }),
  })
}

withPython(
  'a service that is killed in the middle of a call answers again at its address, with its token, data and runner, and kill -9 of npm start then takes both along',
  async () => {
    await using service = await NpmStart.ready()
    await runnerReady(service)
    const upload = await service.fetch('/workflows/tools/modules/again', { method: 'PUT', body: MODULE })
    expect(await upload.json()).toMatchObject({ outcome: 'created' })
    const first = service.servicePid
    const idle = processorSeconds(descendantsOf(first))
    const cut = invoke(service, 'for ever').catch(() => 'cut')
    // The call has used a second of a processor, which nothing else of them does.
    await until(
      () => Promise.resolve(processorSeconds(descendantsOf(first))),
      (busy) => [...busy].some(([pid, seconds]) => seconds > (idle.get(pid) ?? 0)),
    )
    const old = [first, ...descendantsOf(first)]
    process.kill(first, 'SIGKILL')
    expect(await cut).toBe('cut')
    await until(
      () => names(service),
      (listed) => listed.includes('again:echo'),
    )
    await expectGone(old)
    await runnerReady(service)
    expect(await (await invoke(service, 'back')).json()).toMatchObject({ textResultForLlm: 'back' })
    expect(service.output).toContain('The service was ended by SIGKILL; it is being started again.\n')
    expect(service.output.match(/^token: /gm)).toHaveLength(1)
    expect(service.output.match(/^Toolrack \S+ is ready again at http:\S+ \(\d+ ms\)$/gm)).toHaveLength(1)

    const left = descendantsOf(service.pid)
    expect(left.length).toBeGreaterThan(2)
    process.kill(service.pid, 'SIGKILL')
    await expectGone(left)
  },
)
