import { inspect } from 'node:util'
import type { Log } from '../../log.ts'
import type { ArtifactBytes } from './artifact-bytes.ts'
import { KEPT_MS } from './artifact.ts'

/** How often expired bytes are removed, in milliseconds: once in 10 minutes, after the first time at the start. */
const SWEEP_MS = 10 * 60 * 1_000

/**
 * How long the bytes of an expired artifact stay, in milliseconds: an hour, so that nobody loses bytes while they read them, and so
 * that instances may have clocks that differ.
 */
const GRACE_MS = 60 * 60 * 1_000

type Parts = {
  readonly bytes: Pick<ArtifactBytes, 'removeMadeBefore'>
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly log: Pick<Log, 'warn'>
}

/**
 * Removes the bytes of expired artifacts. Their documents expire by themselves. It finds bytes by their keys, so it also removes
 * those whose document was never written, because the server was killed between.
 */
export class ArtifactSweeper {
  readonly #parts: Parts
  readonly #timer: NodeJS.Timeout
  #running: Promise<number> | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    this.#timer = setInterval(() => void this.sweep(), SWEEP_MS).unref()
    void this.sweep()
  }

  /** Removes what has expired, and returns how many contents it has removed. Never rejects. Two at once are one. */
  sweep(): Promise<number> {
    this.#running ??= this.#sweep().finally(() => (this.#running = undefined))
    return this.#running
  }

  async #sweep(): Promise<number> {
    const { bytes, now, log } = this.#parts
    try {
      return await bytes.removeMadeBefore(now() - KEPT_MS - GRACE_MS)
    } catch (error) {
      log.warn('expired artifacts are removed later', { error: inspect(error) })
      return 0
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }
}
