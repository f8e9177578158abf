import { optionInvalid } from './errors.ts'
import { JsonService, type JsonServiceOptions } from './json-service.ts'

/** The selected tools of a session: all, none, or the tools with these names or aliases. */
export type Selection = 'all' | 'none' | readonly string[]

/** The fields of a session. Without `selection`, all tools are selected. Any other missing field is empty. */
export type AskedSession = {
  readonly selection?: Selection
  readonly model?: string | null
  readonly agent?: string | null
  readonly workflow?: string | null
  readonly room?: string | null
  /** The parent session. This session never selects a tool that its parent does not select. */
  readonly parent?: string | null
  /** True if a tool must no longer be called after its definition has changed since the first message. */
  readonly lockDigests?: boolean
}

export type ForkedSession = AskedSession & { readonly id: string }

type SessionTool = { readonly name: string; readonly digest: string }

/** A session. After it is locked, it also has `tools`. */
export type Session = Required<AskedSession> & {
  readonly id: string
  readonly digest: string
  readonly createdAt: string
  readonly lockedAt: string | null
  readonly tools?: readonly SessionTool[]
}

export type LockedSession = { readonly lockedAt: string; readonly tools: readonly SessionTool[] }

export type SessionOptions = JsonServiceOptions

/**
 * Makes and changes sessions at the service. Each method may be called again with the same arguments. The methods reject with
 * OPTION_INVALID, TOKEN_FAILED, SERVICE_REFUSED (`reason` is the code of the service, such as SESSION_LOCKED) or
 * SERVICE_UNAVAILABLE.
 */
export class Sessions {
  readonly #service: JsonService

  /** Throws OPTION_INVALID for an option that is not allowed. */
  constructor(options: SessionOptions) {
    this.#service = new JsonService(options)
  }

  /** Makes a session, or changes it before its first message. */
  put(id: string, session: AskedSession = {}): Promise<Session> {
    return this.#ask('PUT', id, '', session)
  }

  get(id: string): Promise<Session> {
    return this.#ask('GET', id, '')
  }

  /**
   * Locks the selection. Must be called with the first message of the conversation. The text of this message is not sent to the
   * service.
   */
  firstMessage(id: string, selection?: Selection): Promise<LockedSession> {
    return this.#ask('POST', id, '/messages', { selection })
  }

  /** Makes an unlocked session with the fields of another session. */
  fork(id: string, session: ForkedSession): Promise<Session> {
    return this.#ask('POST', id, '/fork', session)
  }

  async delete(id: string): Promise<void> {
    await this.#ask('DELETE', id, '')
  }

  async #ask<Answer>(method: string, id: string, path: string, body?: object): Promise<Answer> {
    if (!/^[A-Za-z0-9][\w.:-]{0,127}$/.test(id))
      throw optionInvalid('id must be 1 to 128 letters, digits, _ . : or -, a letter or digit first')
    return this.#service.ask(method, `../sessions/${id}${path}`, body)
  }
}
