import { setTimeout as pause } from 'node:timers/promises'
import type { CheckOutcome, RunnerRefusal } from './check-file.ts'

/** Each of them takes a place of the runner's, which uploads share. */
export const CHECKS_AT_ONCE = 4

/** How long the runner is left alone after it has refused; twice that each time, up to the most. */
const AGAIN_MS = { least: 100, most: 1_000 } as const

/** The content of a file that is to be checked. */
export type Unchecked = {
  readonly source: Uint8Array
  readonly sha256: string
  /** Since 1970. */
  readonly changedMs: number
}

type Waiting = Unchecked & { tries: number }
type Ended = Exclude<CheckOutcome, RunnerRefusal>

type Parts = {
  readonly check: (file: string, source: Uint8Array) => Promise<CheckOutcome>
  /** Told of the content that is still the wanted one; what has changed in the meantime is checked anew. */
  readonly ended: (file: string, content: Unchecked, outcome: Ended) => void
}

/** Has files checked: a few at a time, of one file one content at a time, and again for as long as the runner refuses. */
export class ModuleChecks {
  readonly #parts: Parts
  readonly #waiting = new Map<string, Waiting>()
  readonly #running = new Set<string>()
  #againMs: number = AGAIN_MS.least
  #resting: NodeJS.Timeout | undefined
  #refusal: string | null = null
  #isRefusedForGood = false
  #turn = Promise.withResolvers<void>()
  #closed = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** What waits to be checked or is being checked, by file name; `reason` says why the runner looks at none. */
  get pending(): readonly { readonly file: string; readonly reason: string | null }[] {
    return [...this.#waiting.keys()].toSorted().map((file) => ({ file, reason: this.#refusal }))
  }

  isPending(file: string): boolean {
    return this.#waiting.has(file)
  }

  /** The content of the file that counts from now on. */
  want(file: string, content: Unchecked): void {
    this.#waiting.set(file, { ...content, tries: 0 })
    this.#next()
  }

  forget(file: string): void {
    if (this.#waiting.delete(file)) this.#tell()
  }

  /** Asks the runner now, also where it has just refused. */
  hurry(): void {
    clearTimeout(this.#resting)
    this.#resting = undefined
    this.#isRefusedForGood = false
    this.#next()
  }

  /** Resolves when nothing waits any more, when nothing will come of waiting, or at the latest after so many milliseconds. */
  async settled(waitMsMax: number): Promise<void> {
    const over = new AbortController()
    const late = pause(waitMsMax, 'late' as const, { signal: over.signal, ref: false }).catch(() => undefined)
    while (this.#waiting.size > 0 && !this.#isRefusedForGood && !this.#closed)
      if ((await Promise.race([this.#turn.promise, late])) === 'late') break
    over.abort()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#resting)
    this.#tell()
  }

  #next(): void {
    if (this.#resting || this.#closed) return
    const free = CHECKS_AT_ONCE - this.#running.size
    if (free <= 0) return
    const ready = [...this.#waiting].filter(([file]) => !this.#running.has(file))
    for (const [file, waiting] of ready.toSorted(byTurn).slice(0, free)) void this.#run(file, waiting)
  }

  async #run(file: string, waiting: Waiting): Promise<void> {
    this.#running.add(file)
    const outcome = await this.#parts.check(file, waiting.source)
    this.#running.delete(file)
    if (this.#closed) return
    if ('refusal' in outcome) this.#rest(waiting, outcome)
    else {
      this.#againMs = AGAIN_MS.least
      this.#refusal = null
      this.#isRefusedForGood = false
      if (this.#waiting.get(file) === waiting) {
        this.#waiting.delete(file)
        this.#parts.ended(file, waiting, outcome)
      }
    }
    this.#tell()
    this.#next()
  }

  #rest(waiting: Waiting, { refusal, isLasting }: RunnerRefusal): void {
    waiting.tries += 1
    this.#refusal = refusal
    this.#isRefusedForGood = isLasting
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

/** What the runner was lost with comes last; else what was changed last comes first, for somebody waits for it. */
function byTurn([fileA, a]: readonly [string, Waiting], [fileB, b]: readonly [string, Waiting]): number {
  return a.tries - b.tries || b.changedMs - a.changedMs || (fileA < fileB ? -1 : 1)
}
