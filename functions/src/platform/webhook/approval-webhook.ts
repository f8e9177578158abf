import { createHmac } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { NewApproval } from '../../features/approvals/approvals.ts'
import type { Log } from '../../log.ts'

/** The address to which messages about new approvals are sent, and the secret with which they are signed. */
export type WebhookTarget = { readonly url: string; readonly secret: string }

/** The milliseconds before each further attempt to send a message. */
const PAUSES_MS: readonly number[] = [1_000, 5_000, 30_000]

/** The most milliseconds of one request. A webhook that never answers must not keep a connection. */
const REQUEST_DEADLINE_MS = 5_000

/**
 * The most messages that are being sent at the same time, for one user and for all users. Further messages are lost, because
 * nothing may wait for a webhook. The limit for one user leaves room for others.
 */
const MESSAGES_MAX = { perUser: 20, all: 100 } as const

/** Sends a signed message about each new approval. No call waits for it, and no call fails because of it. */
export class ApprovalWebhook {
  readonly #target: WebhookTarget
  readonly #log: Pick<Log, 'warn'>
  readonly #pausesMs: readonly number[]
  readonly #now: () => number
  readonly #closed = new AbortController()
  readonly #byUser = new Map<string, number>()
  #underWay = 0

  constructor(
    target: WebhookTarget,
    log: Pick<Log, 'warn'>,
    { pausesMs = PAUSES_MS, now = Date.now }: { pausesMs?: readonly number[]; now?: () => number } = {},
  ) {
    this.#target = target
    this.#log = log
    this.#pausesMs = pausesMs
    this.#now = now
  }

  announce = ({ id, tool, uid, expiresAt }: NewApproval): void => {
    const ofUser = this.#byUser.get(uid) ?? 0
    if (this.#underWay >= MESSAGES_MAX.all) return this.#lost(id, 'too many messages are under way')
    if (ofUser >= MESSAGES_MAX.perUser) return this.#lost(id, 'too many messages of its user are under way')
    this.#underWay += 1
    this.#byUser.set(uid, ofUser + 1)
    const body = JSON.stringify({ type: 'approval.pending', id, tool, uid, expiresAt })
    void this.#deliver(id, body).finally(() => this.#ended(uid))
  }

  /** Gives up all messages that are being sent. */
  close(): void {
    this.#closed.abort()
  }

  /** Sends a message. After a failure, tries again. Never rejects. */
  async #deliver(id: string, body: string): Promise<void> {
    let fault = await this.#send(body)
    try {
      for (const pauseMs of this.#pausesMs) {
        if (fault === undefined) break
        await setTimeout(pauseMs, undefined, { signal: this.#closed.signal, ref: false })
        fault = await this.#send(body)
      }
    } catch {
      fault = 'the service stops'
    }
    if (fault !== undefined) this.#lost(id, fault)
  }

  /**
   * Sends a message once. Returns why the message was not accepted, or undefined if it was. The signature includes the time, so
   * an old message can be recognized.
   */
  async #send(body: string): Promise<string | undefined> {
    const { url, secret } = this.#target
    const seconds = Math.floor(this.#now() / 1_000)
    const signature = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
    try {
      const answer = await fetch(url, {
        method: 'POST',
        body,
        headers: {
          'Content-Type': 'application/json',
          'X-Toolrack-Signature': `t=${seconds},v1=${signature}`,
        },
        redirect: 'error',
        signal: AbortSignal.any([this.#closed.signal, AbortSignal.timeout(REQUEST_DEADLINE_MS)]),
      })
      await answer.body?.cancel()
      return answer.ok ? undefined : `the webhook answered ${answer.status}`
    } catch (error) {
      return error instanceof Error && error.name === 'TimeoutError'
        ? `no answer within ${REQUEST_DEADLINE_MS} ms`
        : 'the webhook cannot be reached'
    }
  }

  #ended(uid: string): void {
    this.#underWay -= 1
    const ofUser = (this.#byUser.get(uid) ?? 1) - 1
    if (ofUser > 0) this.#byUser.set(uid, ofUser)
    else this.#byUser.delete(uid)
  }

  #lost(id: string, reason: string): void {
    this.#log.warn('the webhook was not told about an approval', { approval: id, reason })
  }
}
