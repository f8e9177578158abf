import { withinMs } from '../../within-ms.ts'
import type { ModuleContent } from '../../catalog/definitions/module-content.ts'
import type { CheckOutcome, NotChecked } from './check-file.ts'

/** How many files are checked at once. Each check takes a place in the runner, and the checks of uploads need places too. */
export const CHECKS_AT_ONCE = 4

/** The pause after the runner refused a check, in milliseconds. It doubles after each refusal, from `least` to `most`. */
const PAUSE_MS = { least: 100, most: 1_000 } as const

export type Unchecked = ModuleContent<Uint8Array> & {
  readonly sha256: string
  /** Milliseconds since 1970. */
  readonly changedMs: number
}

type Waiting = Unchecked & { tries: number; later?: Later | undefined }

/** Why a file is checked later, and the timer until then. */
type Later = { readonly reason: string; readonly timer: NodeJS.Timeout }

type Parts = {
  readonly check: (file: string, content: Unchecked) => Promise<CheckOutcome>
  /**
   * Called with the outcome of a check. Not called if newer content of the file is already waiting, because that is checked next.
   */
  readonly ended: (file: string, content: Unchecked, outcome: Exclude<CheckOutcome, NotChecked>) => void
}

/** Checks a few files at a time, but never two contents of the same file. If the runner refuses a check, it is repeated later. */
export class ModuleChecks {
  readonly #parts: Parts
  readonly #waiting = new Map<string, Waiting>()
  readonly #running = new Set<string>()
  #pauseMs: number = PAUSE_MS.least
  #pause: NodeJS.Timeout | undefined
  #notChecked: NotChecked | undefined
  #turn = Promise.withResolvers<void>()
  #closed = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The files that wait for a check or are being checked, by name. If the runner refuses checks now, `reason` says why. */
  get pending(): readonly { readonly file: string; readonly reason: string | null }[] {
    const reason = this.#notChecked?.refusal ?? null
    const files = [...this.#waiting].map(([file, { later }]) => ({ file, reason: later?.reason ?? reason }))
    return files.toSorted((a, b) => (a.file < b.file ? -1 : 1))
  }

  isPending(file: string): boolean {
    return this.#waiting.has(file)
  }

  /** Requests a check of this content, which replaces older content of the file that waits. */
  want(file: string, content: Unchecked): void {
    clearTimeout(this.#waiting.get(file)?.later?.timer)
    this.#waiting.set(file, { ...content, tries: 0 })
    this.#next()
  }

  forget(file: string): void {
    clearTimeout(this.#waiting.get(file)?.later?.timer)
    if (this.#waiting.delete(file)) this.#notify()
  }

  /** Ends the pause after a refusal, and continues with the checks at once. */
  hurry(): void {
    clearTimeout(this.#pause)
    this.#pause = undefined
    for (const waiting of this.#waiting.values()) this.#endLater(waiting)
    if (this.#notChecked) this.#notChecked = { ...this.#notChecked, isLasting: false }
    this.#next()
  }

  /**
   * Resolves when only files wait that are checked again later, when no check can succeed until a person acts (`isLasting`), or
   * after `waitMsMax` milliseconds.
   */
  async settled(waitMsMax: number): Promise<void> {
    await withinMs(waitMsMax, this.#settled(), () => undefined)
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#pause)
    for (const waiting of this.#waiting.values()) this.#endLater(waiting)
    this.#notify()
  }

  #endLater(waiting: Waiting): void {
    clearTimeout(waiting.later?.timer)
    waiting.later = undefined
  }

  async #settled(): Promise<void> {
    const isWaiting = () => [...this.#waiting.values()].some(({ later }) => !later)
    while (isWaiting() && !this.#notChecked?.isLasting && !this.#closed) await this.#turn.promise
  }

  #next(): void {
    if (this.#pause || this.#closed) return
    const ready = [...this.#waiting]
      .filter(([file, { later }]) => !later && !this.#running.has(file))
      .toSorted(byTurn)
    const free = Math.max(0, CHECKS_AT_ONCE - this.#running.size)
    for (const [file, waiting] of ready.slice(0, free)) void this.#run(file, waiting)
  }

  async #run(file: string, waiting: Waiting): Promise<void> {
    this.#running.add(file)
    const outcome = await this.#parts.check(file, waiting)
    this.#running.delete(file)
    if (this.#closed) return
    if ('refusal' in outcome) {
      waiting.tries += 1
      if (outcome.againMs === undefined) {
        this.#notChecked = outcome
        this.#startPause()
      } else if (this.#waiting.get(file) === waiting)
        this.#checkLater(waiting, outcome.refusal, outcome.againMs)
    } else {
      this.#pauseMs = PAUSE_MS.least
      this.#notChecked = undefined
      if (this.#waiting.get(file) === waiting) {
        this.#waiting.delete(file)
        this.#parts.ended(file, waiting, outcome)
      }
    }
    this.#notify()
    this.#next()
  }

  #checkLater(waiting: Waiting, reason: string, afterMs: number): void {
    const timer = setTimeout(() => {
      waiting.later = undefined
      this.#next()
    }, afterMs)
    waiting.later = { reason, timer: timer.unref() }
  }

  #startPause(): void {
    if (this.#pause) return
    this.#pause = setTimeout(() => {
      this.#pause = undefined
      this.#next()
    }, this.#pauseMs).unref()
    this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MS.most)
  }

  #notify(): void {
    this.#turn.resolve()
    this.#turn = Promise.withResolvers<void>()
  }
}

/**
 * Sorts the contents that wait for a check. Content that the runner has refused to check comes last. Otherwise the newest content
 * comes first, because its author waits.
 */
function byTurn([fileA, a]: readonly [string, Waiting], [fileB, b]: readonly [string, Waiting]): number {
  return a.tries - b.tries || b.changedMs - a.changedMs || (fileA < fileB ? -1 : 1)
}
