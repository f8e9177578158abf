import type { Fault } from '../rounds.ts'
import { isWhole } from './fuzzed-request.ts'
import type { FuzzedRequest } from './fuzzed-request.ts'
import { familyOf } from './people.ts'
import type { Sender } from './people.ts'
import { Stage } from './stage.ts'
import { tryRequest } from './try-request.ts'
import { runnerTreeOf } from '../../support/processes.ts'

/** What the caches of lists may hold (64 MB and 32 MB), and 64 MB for everything else that is warm. */
const KEPT_BYTES_MAX = 160 * 1024 * 1024
const MB = 1024 * 1024

/** Tries requests on a stage, and looks after each of them whether what must stay the same has stayed so. */
export class RequestTrials implements AsyncDisposable {
  readonly numbers: Record<string, number> = {}
  #stage: Stage
  /** The revision that a sender's list has; unknown after a write. */
  readonly #revisions = new Map<Sender, string>()
  #logged = 0
  #isLost = false
  #runner: number | undefined
  #bytesAtFirst: number | undefined

  private constructor(stage: Stage) {
    this.#stage = stage
    this.#enter(stage)
  }

  static async start(): Promise<RequestTrials> {
    return new RequestTrials(await Stage.start())
  }

  async attempt(request: FuzzedRequest): Promise<Fault | undefined> {
    if (this.#isLost || !this.#stage.service.isAlive) await this.#restart()
    try {
      return await this.#attempt(request)
    } catch (error) {
      // It cannot be reached any more; that its process has ended is heard a moment later.
      this.#isLost = true
      return {
        kind: 'the service has ended',
        detail: `${String(error)} ${this.#stage.service.log.slice(-2_000)}`,
      }
    }
  }

  async #attempt(request: FuzzedRequest): Promise<Fault | undefined> {
    const stage = this.#stage
    const { sender } = request
    const before = await this.#revisionOf(sender)
    const { fault, status } = await tryRequest(request, stage)
    this.#count(`answers of ${status}`)
    if (!stage.service.isAlive)
      return { kind: 'the service has ended', detail: stage.service.log.slice(-2_000) }
    // Node hands a request on before it knows that its body is malformed, and the refusal may come behind the write.
    const mayBeWritten = (status < 300 || !isWhole(request)) && !['GET', 'HEAD'].includes(request.method)
    if (mayBeWritten) this.#revisions.clear()
    return fault ?? stage.honest.takeFault() ?? this.#logFault() ?? (await this.#changeFault(sender, before))
  }

  async afterRound(): Promise<readonly Fault[]> {
    const { service, honest } = this.#stage
    if (this.#isLost || !service.isAlive) return []
    const report = await service.inspect()
    const bytes = report.heapBytes + report.externalBytes
    this.#bytesAtFirst ??= bytes
    this.numbers['heap and buffers after the first round, MB'] ??= Math.round(bytes / MB)
    this.#most('heap and buffers after a round, MB at most', bytes / MB)
    this.#most('event loop of the service stood still, ms at most', report.delayMsMax)
    this.numbers['lists of the honest reader'] = honest.lists
    const faults: Fault[] = []
    if (bytes - this.#bytesAtFirst > KEPT_BYTES_MAX)
      faults.push({ kind: 'memory of the service does not come back', detail: JSON.stringify(report) })
    const [runner] = runnerTreeOf(service.pid)
    if (runner !== this.#runner)
      faults.push({
        kind: 'the runner has ended',
        detail: `${this.#runner} became ${runner}: ${service.log.slice(-2_000)}`,
      })
    this.#runner = runner
    await this.#stage.reset()
    this.#revisions.clear()
    return faults
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stage.stop()
  }

  #enter(stage: Stage): void {
    this.#stage = stage
    this.#revisions.clear()
    this.#isLost = false
    this.#logged = stage.service.log.length
    this.#bytesAtFirst = undefined
    this.#runner = runnerTreeOf(stage.service.pid)[0]
  }

  async #restart(): Promise<void> {
    await this.#stage.stop()
    this.#enter(await Stage.start())
  }

  /** A request that was refused, or only reads, leaves the revision as it was. */
  async #changeFault(sender: Sender, before: string | undefined): Promise<Fault | undefined> {
    if (before === undefined || !this.#revisions.has(sender)) return undefined
    this.#revisions.delete(sender)
    const after = await this.#revisionOf(sender)
    if (after === before) return undefined
    return { kind: 'a request that was refused has changed something', detail: `${before} became ${after}` }
  }

  async #revisionOf(sender: Sender): Promise<string | undefined> {
    const known = this.#revisions.get(sender)
    const token = this.#stage.tokenOf(sender)
    if (known !== undefined || token === undefined) return known
    const answer = await fetch(`${this.#stage.service.url}/${familyOf(sender)}/tools/list?names=[]`, {
      headers: { Authorization: `Bearer ${token}` },
    })
    await answer.arrayBuffer()
    const listed = answer.headers.get('x-tools-revision') ?? `none, but a ${answer.status}`
    // The mark of a layer whose last read was late is no change.
    const revision = listed.replaceAll('~', '')
    this.#revisions.set(sender, revision)
    return revision
  }

  /** The service logs as an error only what it, or what it stands on, has failed at. */
  #logFault(): Fault | undefined {
    const { log } = this.#stage.service
    const said = log.slice(this.#logged)
    this.#logged = log.length
    // A machine that is busy with others is no fault of a request.
    const [line] = /^error (?!.*was not read within).*$/m.exec(said) ?? []
    return line === undefined
      ? undefined
      : { kind: `the log has an error: ${line.slice(0, 60)}`, detail: said.slice(0, 3_000) }
  }

  #count(what: string): void {
    this.numbers[what] = (this.numbers[what] ?? 0) + 1
  }

  #most(what: string, value: number): void {
    this.numbers[what] = Math.max(this.numbers[what] ?? 0, Math.round(value))
  }
}
