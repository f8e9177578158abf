import { withinMs } from '../../within-ms.ts'
import type { CheckOutcome, NotChecked } from './check-file.ts'

/** Each check takes a place of the runner, and uploads need places too. */
export const CHECKS_AT_ONCE = 4

/** Milliseconds until the runner is asked again after it refused. They double each time, up to the most. */
const AGAIN_MS = { least: 100, most: 1_000 } as const

export type Unchecked = {
  readonly source: Uint8Array
  readonly sha256: string
  /** Since 1970. */
  readonly changedMs: number
}

type Waiting = Unchecked & { tries: number }

type Parts = {
  readonly check: (file: string, source: Uint8Array) => Promise<CheckOutcome>
  /** Told of content that is still the wanted one. A file that has changed meanwhile is checked again. */
  readonly ended: (file: string, content: Unchecked, outcome: Exclude<CheckOutcome, NotChecked>) => void
}

/** Has files checked: a few at a time, one content of each file, and again as long as the runner refuses. */
export class ModuleChecks {
  readonly #parts: Parts
  readonly #waiting = new Map<string, Waiting>()
  readonly #running = new Set<string>()
  #againMs: number = AGAIN_MS.least
  #resting: NodeJS.Timeout | undefined
  #notChecked: NotChecked | undefined
  #turn = Promise.withResolvers<void>()
  #closed = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** What waits to be checked or is being checked, by file name; `reason` says why the runner checks nothing. */
  get pending(): readonly { readonly file: string; readonly reason: string | null }[] {
    const reason = this.#notChecked?.refusal ?? null
    return [...this.#waiting.keys()].toSorted().map((file) => ({ file, reason }))
  }

  isPending(file: string): boolean {
    return this.#waiting.has(file)
  }

  /** Has this content checked, in place of any older one of the file. */
  want(file: string, content: Unchecked): void {
    this.#waiting.set(file, { ...content, tries: 0 })
    this.#next()
  }

  forget(file: string): void {
    if (this.#waiting.delete(file)) this.#tell()
  }

  /** Asks the runner now, even if it has just refused. */
  hurry(): void {
    clearTimeout(this.#resting)
    this.#resting = undefined
    if (this.#notChecked) this.#notChecked = { ...this.#notChecked, isLasting: false }
    this.#next()
  }

  /** Resolves when nothing waits any more, when the runner refuses for good, or after so many milliseconds. */
  async settled(waitMsMax: number): Promise<void> {
    await withinMs(waitMsMax, this.#settled(), () => undefined)
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#resting)
    this.#tell()
  }

  async #settled(): Promise<void> {
    while (this.#waiting.size > 0 && !this.#notChecked?.isLasting && !this.#closed) await this.#turn.promise
  }

  #next(): void {
    if (this.#resting || this.#closed) return
    const ready = [...this.#waiting].filter(([file]) => !this.#running.has(file)).toSorted(byTurn)
    const free = Math.max(0, CHECKS_AT_ONCE - this.#running.size)
    for (const [file, waiting] of ready.slice(0, free)) void this.#run(file, waiting)
  }

  async #run(file: string, waiting: Waiting): Promise<void> {
    this.#running.add(file)
    const outcome = await this.#parts.check(file, waiting.source)
    this.#running.delete(file)
    if (this.#closed) return
    if ('refusal' in outcome) {
      waiting.tries += 1
      this.#notChecked = outcome
      this.#rest()
    } else {
      this.#againMs = AGAIN_MS.least
      this.#notChecked = undefined
      if (this.#waiting.get(file) === waiting) {
        this.#waiting.delete(file)
        this.#parts.ended(file, waiting, outcome)
      }
    }
    this.#tell()
    this.#next()
  }

  #rest(): void {
    if (this.#resting) return
    this.#resting = setTimeout(() => {
      this.#resting = undefined
      this.#next()
    }, this.#againMs).unref()
    this.#againMs = Math.min(this.#againMs * 2, AGAIN_MS.most)
  }

  #tell(): void {
    this.#turn.resolve()
    this.#turn = Promise.withResolvers<void>()
  }
}

/** Content that the runner could not check comes last. Otherwise the last changed comes first, because its author waits. */
function byTurn([fileA, a]: readonly [string, Waiting], [fileB, b]: readonly [string, Waiting]): number {
  return a.tries - b.tries || b.changedMs - a.changedMs || (fileA < fileB ? -1 : 1)
}
