import { setTimeout as pause } from 'node:timers/promises'
import type { Fault } from '../rounds.ts'

const PATH = '/workflows/tools/list?names=hanas_first,hanas_other'
/** Between two lists, in milliseconds: often enough to meet most cases. */
const PAUSE_MS = 5
const ANSWER_MS_MAX = 20_000

/** Somebody who sends nothing odd and lists their tools all the time. */
export class HonestReader {
  readonly #url: string
  readonly #token: () => string
  #body = ''
  #fault: Fault | undefined
  #reading: Promise<void> | undefined
  #isOver = false
  /** How many lists were answered. */
  lists = 0

  constructor(url: string, token: () => string) {
    this.#url = url
    this.#token = token
  }

  async start(): Promise<void> {
    const first = await this.#list()
    if (first.status !== 200 || !first.body.includes('hanas_other'))
      throw new Error(`the list of the honest reader was answered ${first.status}: ${first.body}`)
    this.#body = first.body
    this.#reading = this.#read()
  }

  /** What went wrong since the last question. */
  takeFault(): Fault | undefined {
    const fault = this.#fault
    this.#fault = undefined
    return fault
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#reading
  }

  async #read(): Promise<void> {
    let token = this.#token()
    while (!this.#isOver) {
      if (this.lists % 1_000 === 0) token = this.#token()
      const { status, body } = await this.#list(token)
      this.lists += 1
      if (!this.#isOver && (status !== 200 || body !== this.#body))
        this.#fault ??= {
          kind: 'the honest reader was given another list',
          detail: `${status} ${body.slice(0, 500)}`,
        }
      await pause(PAUSE_MS)
    }
  }

  async #list(token = this.#token()): Promise<{ readonly status: number; readonly body: string }> {
    try {
      const answer = await fetch(this.#url + PATH, {
        headers: { Authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      })
      return { status: answer.status, body: await answer.text() }
    } catch (error) {
      return { status: 0, body: String(error) }
    }
  }
}
