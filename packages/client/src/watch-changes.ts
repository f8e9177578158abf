import { isJsonObject, parsedJson } from '@toolrack/contract'
import { ServiceError, ToolsError } from './errors.ts'
import { orAborted } from './in-time.ts'
import type { ListQuery } from './list-query.ts'
import { pause } from './retry.ts'
import { accepted, withNetworkErrors, type Service } from './service.ts'

/** The names of the tools that were added, changed and removed. Each of the three lists is sorted. */
export type NamesChanged = {
  readonly added: readonly string[]
  readonly changed: readonly string[]
  readonly removed: readonly string[]
}

/**
 * What a feed reports: a change, that changes may have been lost (`reset`), or that the connection has begun, was lost or is
 * back.
 */
export type FeedNews =
  | ({ readonly type: 'changes'; readonly revision?: string | undefined } & NamesChanged)
  | { readonly type: 'begun' | 'reset' | 'back' }
  | { readonly type: 'lost'; readonly error: ServiceError }

const PAUSE_MS = { again: 100, first: 500, max: 30_000 }
/**
 * How many milliseconds a connection may bring no data. The service writes a comment every 15 seconds, and a poll ends after 25
 * seconds. So a connection without data is dead.
 */
const SILENCE_MS = 60_000

/** The parameters of a list that only affect how its tools are shown. They are not sent when a feed is opened. */
const OF_LISTS_ONLY = ['envelope', 'q', 'explain', 'loaded', 'dialect', 'budget', 'tokens', 'strict']

const ACCEPT = 'text/event-stream, application/json;q=0.9'

/**
 * Reports the changes of a list until the signal is aborted. After a lost connection it connects again, with pauses that double,
 * and continues after the last reported change. Throws the reason of the signal, TOKEN_FAILED or SERVICE_REFUSED.
 */
export async function* feedOf(
  service: Service,
  { search }: Pick<ListQuery, 'search'>,
  signal: AbortSignal,
): AsyncGenerator<FeedNews, never> {
  const parameters = new URLSearchParams(search)
  for (const name of OF_LISTS_ONLY) parameters.delete(name)
  let since: string | undefined
  let pauseMs = 0
  let isLost = false
  for (;;) {
    signal.throwIfAborted()
    const connection = new AbortController()
    const leave = (): void => connection.abort(signal.reason)
    signal.addEventListener('abort', leave)
    try {
      if (since !== undefined) parameters.set('since', since)
      const token = await orAborted(signal, service.token())
      for await (const { revision, news } of answers(service, parameters, token, connection)) {
        if (revision !== undefined) since = revision
        pauseMs = 0
        if (isLost) yield { type: 'back' }
        isLost = false
        if (news.type !== 'changes') yield news
        else if (hasNames(news)) yield { ...news, revision }
      }
      // A stream ends when its token expires, or when its Cloud Function has run for the longest allowed time. The next stream
      // continues after the last change.
      await pause(PAUSE_MS.again, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof ToolsError && error.status === 410) {
        parameters.delete('since')
        since = undefined
        yield { type: 'reset' }
        continue
      }
      if (!(error instanceof ServiceError)) throw error
      if (!isLost) yield { type: 'lost', error }
      isLost = true
      pauseMs = Math.min(pauseMs * 2 || PAUSE_MS.first, PAUSE_MS.max)
      await pause(Math.max(error.retryAfterMs, pauseMs * (0.5 + Math.random() / 2)), signal)
    } finally {
      signal.removeEventListener('abort', leave)
      connection.abort()
    }
  }
}

/**
 * True if a list is older than the change that a feed has reported. An instance of the service may learn of a change only after a
 * second. A revision begins with the numbers of the writes of two layers.
 */
export function isOlder(listed = '', told = ''): boolean {
  const writes = told.split('.', 2).map(parseFloat)
  return listed.split('.', 2).some((layer, at) => parseFloat(layer) < (writes[at] ?? 0))
}

type Answer = { readonly revision: string | undefined; readonly news: FeedNews }

/** The answers to one request: all events of a stream, or one change. */
async function* answers(
  service: Service,
  parameters: URLSearchParams,
  token: string,
  connection: AbortController,
): AsyncGenerator<Answer, void> {
  const { signal } = connection
  const silent = new ServiceError('TIMEOUT', `The service sent nothing for ${SILENCE_MS} ms.`)
  let clock = setTimeout(() => connection.abort(silent), SILENCE_MS)
  const alive = (): void => {
    clearTimeout(clock)
    clock = setTimeout(() => connection.abort(silent), SILENCE_MS)
  }
  try {
    const path = `changes?${parameters.toString()}`
    const init = () => ({ headers: { Accept: ACCEPT } })
    const { response } = await service.ask(path, token, signal, init, accepted)
    if (!response.headers.get('Content-Type')?.startsWith('text/event-stream')) {
      const text = await withNetworkErrors(signal, () => response.text())
      const revision = response.headers.get('X-Tools-Revision') ?? undefined
      const isFirst = !parameters.has('since')
      const news = response.status === 204 ? NOTHING : changesIn(text)
      if (!news) throw new ServiceError('UNREADABLE', 'The answer is not a change of tools.')
      yield { revision, news: isFirst ? { type: 'begun' } : news }
      return
    }
    let isFirst = !parameters.has('since')
    for await (const { id, event, data } of events(response, signal, alive)) {
      if (event === 'reset') yield { revision: id, news: { type: 'reset' } }
      const news = event === 'changes' ? changesIn(data) : undefined
      if (news) yield { revision: id, news: isFirst ? { type: 'begun' } : news }
      if (news) isFirst = false
      if (event === '') yield { revision: undefined, news: NOTHING }
    }
  } finally {
    clearTimeout(clock)
  }
}

/** The events of a stream. A comment counts as an event without a type. */
async function* events({ body }: Response, signal: AbortSignal, alive: () => void) {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const read = await orAborted(
      signal,
      withNetworkErrors(signal, async () => reader?.read()),
    )
    if (!read?.value) return
    alive()
    const blocks = (text + decoder.decode(read.value, { stream: true })).split(/\r?\n\r?\n/)
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const field = (name: string): string => new RegExp(`^${name}: ?(.*)$`, 'm').exec(block)?.[1] ?? ''
      yield { id: field('id'), event: field('event'), data: field('data') }
    }
  }
}

const NOTHING = { type: 'changes', added: [], changed: [], removed: [] } as const

function changesIn(text: string): ({ readonly type: 'changes' } & NamesChanged) | undefined {
  const change = parsedJson(text)
  if (!isJsonObject(change)) return undefined
  const names = (field: string): string[] =>
    [change[field]].flat().flatMap((item) => {
      const name = isJsonObject(item) ? item['name'] : item
      return typeof name === 'string' ? name : []
    })
  return { type: 'changes', added: names('added'), changed: names('changed'), removed: names('removed') }
}

function hasNames({ added, changed, removed }: NamesChanged): boolean {
  return added.length + changed.length + removed.length > 0
}
