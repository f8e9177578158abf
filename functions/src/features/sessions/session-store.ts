import { isJsonObject, ToolrackError } from '@toolrack/contract'
import { put, remove, type Collection, type Ref, type Sums } from '../../documents/collection.ts'
import type { Documents, Kept } from '../../documents/documents.ts'
import { endOf, type Session, type SessionHead } from './session.ts'

/** What a change does to a session. `null` deletes the session. Undefined leaves it as it was. */
export type PlannedSession<Result> = { readonly result: Result; readonly session?: Session | null }

/** The most sessions of one user, so that a program that makes more and more sessions cannot fill the store. */
export const SESSIONS_MAX = 10_000

/** The most bytes of one user's sessions. Enough for 10,000 sessions of 80 chosen tools. */
export const SESSIONS_BYTES_MAX = 64 * 1024 * 1024

export const SESSION_BOUNDS: Sums = { count: SESSIONS_MAX, bytes: SESSIONS_BYTES_MAX }

/**
 * The collection of sessions. The fields of a document are the session without its tools. The body of the document has the tools.
 */
function sessionsWithin(bounds: Sums): Collection<SessionHead> {
  return {
    name: 'sessions',
    owner: 'user',
    fields: isJsonObject as (value: unknown) => value is SessionHead,
    hasBody: true,
    expires: endOf,
    quota: { ...bounds, refuse: (sums) => new ToolrackError('SESSIONS_FULL', fullText(sums, bounds)) },
  }
}

function fullText(sums: Sums, bounds: Sums): string {
  return sums.count > bounds.count
    ? `You have ${bounds.count} sessions, which is the most; delete some first.`
    : `Your sessions would have ${sums.bytes} bytes, and ${bounds.bytes} are allowed; delete some, or choose fewer tools.`
}

/**
 * A tool as the store keeps it: its name, and the hex digits of its digest. A document of Firestore has room for 5,000 tools with
 * the longest names.
 */
type KeptTool = readonly [name: string, hex?: string]

const PREFIX = 'sha256:' as const

/** Keeps the sessions of each user. */
export class SessionStore {
  readonly #documents: Documents
  readonly #of: Collection<SessionHead>
  /** Prepares all reads. Never rejects. */
  readonly open: Documents['open']

  constructor(documents: Documents, bounds = SESSION_BOUNDS) {
    this.#documents = documents
    this.#of = sessionsWithin(bounds)
    this.open = documents.open
  }

  read = async (uid: string, id: string): Promise<Session | undefined> => {
    const [kept] = await this.#documents.read(uid, [this.#ref(id)])
    return kept && sessionIn(kept)
  }

  /** At most `limit` sessions whose ids come after `after`, by code unit of the id. */
  page = async (uid: string, after: string | undefined, limit: number): Promise<readonly SessionHead[]> =>
    (await this.#documents.list(uid, this.#of, { after, limit })).map(({ fields }) => fields)

  /**
   * Changes a session in one transaction, which may run `plan` several times. Rejects with SESSIONS_FULL if a new or larger
   * session would exceed the user's limits.
   */
  change = <Result>(
    uid: string,
    id: string,
    plan: (session: Session | undefined) => PlannedSession<Result>,
  ): Promise<Result> =>
    this.#documents.change(uid, [this.#ref(id)], ([kept]) => {
      const { result, session } = plan(kept && sessionIn(kept))
      if (session === undefined) return { result }
      if (session === null) return { result, writes: [remove(this.#ref(id))] }
      const { tools, ...head } = session
      return { result, writes: [put(this.#ref(id), head, toolsText(tools))] }
    })

  #ref(key: string): Ref<SessionHead> {
    return { of: this.#of, key }
  }
}

function toolsText(tools: Session['tools']): string {
  const kept = tools.map(({ name, digest }): KeptTool =>
    digest === null ? [name] : [name, digest.slice(PREFIX.length)],
  )
  return JSON.stringify(kept)
}

/** Throws if the body with the tools is missing, because no call may run without the selection of its session. */
function sessionIn({ fields, body }: Kept<SessionHead>): Session {
  if (body === undefined) throw new ToolrackError('STORE_FAILED')
  const kept = JSON.parse(body) as readonly KeptTool[]
  return {
    ...fields,
    tools: kept.map(([name, hex]) => ({ name, digest: hex === undefined ? null : `${PREFIX}${hex}` })),
  }
}
