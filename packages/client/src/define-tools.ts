import { isJsonObject, parsedJson, type Layer } from '@toolrack/contract'
import { ServiceError, timedOut, ToolsError } from './errors.ts'
import { inTime, orAborted } from './in-time.ts'
import { withRetry } from './retry.ts'
import { Service, withNetworkErrors, type ServiceOptions } from './service.ts'

/** The most definitions in one request that the service accepts. */
const GROUP_MAX = 200
/** The most characters of one request. The service accepts a megabyte, and a character can take three bytes. */
const GROUP_LENGTH_MAX = 300_000
const NO_LIST = 'The definitions must be a list. A file of definitions has this list in `tools`.'

export type DefineOptions = Omit<ServiceOptions, 'session'> & {
  /** The layer to write. The default is `user`; `global` is for admins. */
  readonly layer?: Exclude<Layer, 'file'> | undefined
  /** What the service does with a definition whose name exists in the layer. The default is `upsert`. */
  readonly onConflict?: 'upsert' | 'skip' | 'error' | undefined
  /** Called after the service has answered a group of definitions. */
  readonly onProgress?: ((progress: DefineProgress) => void) | undefined
  /** The longest wait for the answer to one group, in milliseconds, including all attempts. The default is 60,000. */
  readonly deadlineMs?: number | undefined
  /** When the signal is aborted, no further group is sent. */
  readonly signal?: AbortSignal | undefined
}

/** `done` of `total` definitions were answered. `refused` is how many of these were refused. */
export type DefineProgress = { readonly done: number; readonly total: number; readonly refused: number }

export type DefinedTool = {
  /** The index of the definition in the given list. */
  readonly index: number
  readonly name: string
  readonly digest: string
  readonly outcome: 'created' | 'updated' | 'unchanged' | 'skipped'
}

/** One fault of a refused definition. A definition can have several faults. */
export type RefusedTool = {
  /** The index of the definition in the given list. */
  readonly index: number
  /** The code of the service, such as `SCHEMA_REJECTED`. */
  readonly reason: string
  /** The JSON Pointer to the fault in the definition. Empty if the fault is in the definition as a whole. */
  readonly pointer: string
  readonly message: string
}

export type Defined = { readonly written: readonly DefinedTool[]; readonly refused: readonly RefusedTool[] }

/**
 * Writes any number of definitions, in groups of a size that the service accepts. If a definition is refused, it is in `refused`,
 * and the others are written. If the answer to a group is lost, the group is sent again, because writing the same definition
 * twice changes nothing. Rejects with OPTION_INVALID, TOKEN_FAILED, SERVICE_REFUSED (401, 403 and other faults of the request
 * itself), SERVICE_UNAVAILABLE, or the reason of the signal. Groups that were answered before stay written, so the same call can
 * be repeated.
 */
export async function defineTools(definitions: readonly object[], options: DefineOptions): Promise<Defined> {
  if (!Array.isArray(definitions)) throw new ToolsError('OPTION_INVALID', NO_LIST)
  const { onProgress, signal } = options
  const send = sender(options)
  const written: DefinedTool[] = []
  const refused: RefusedTool[] = []
  const groups = groupsOf(definitions)
  for (let group = groups.shift(); group !== undefined; group = groups.shift()) {
    signal?.throwIfAborted()
    const answer = await send(group)
    if (answer === 'halve') {
      const middle = Math.ceil(group.texts.length / 2)
      groups.unshift(part(group, 0, middle), part(group, middle))
      continue
    }
    written.push(...answer.written)
    refused.push(...answer.refused)
    const count = new Set(refused.map(({ index }) => index)).size
    onProgress?.({ done: written.length + count, total: definitions.length, refused: count })
  }
  return { written, refused }
}

/** A group of definitions as JSON texts. `from` is the index of its first definition in the whole list. */
type Group = { readonly from: number; readonly texts: readonly string[] }

function part({ from, texts }: Group, start: number, end?: number): Group {
  return { from: from + start, texts: texts.slice(start, end) }
}

function groupsOf(definitions: readonly object[]): Group[] {
  const groups: { from: number; texts: string[] }[] = []
  let length = Infinity
  for (const [index, definition] of definitions.entries()) {
    const text = JSON.stringify(definition)
    const last = groups.at(-1)
    if (last && last.texts.length < GROUP_MAX && length + text.length <= GROUP_LENGTH_MAX)
      last.texts.push(text)
    else {
      groups.push({ from: index, texts: [text] })
      length = 0
    }
    length += text.length
  }
  return groups
}

/** Makes a function that sends one group. Its result is `halve` if the service has refused the group as too large. */
function sender(options: DefineOptions): (group: Group) => Promise<Defined | 'halve'> {
  const { layer = 'user', onConflict = 'upsert', deadlineMs = 60_000, signal: outer } = options
  const service = new Service(options)
  const path = `defs?${new URLSearchParams({ layer, onConflict, onInvalid: 'skip' }).toString()}`

  async function answered({ from, texts }: Group): Promise<Defined> {
    const init = {
      method: 'POST',
      body: `[${texts.join()}]`,
      headers: { 'Content-Type': 'application/json' },
    }
    return inTime(
      deadlineMs,
      () => timedOut(deadlineMs),
      async (signal) => {
        const token = await orAborted(signal, service.token())
        const ask = async () => {
          const { response } = await service.ask(path, token, signal, () => init)
          return definedIn(await withNetworkErrors(signal, () => response.text()), from)
        }
        return withRetry(Date.now() + deadlineMs, signal, ask)
      },
      outer,
    )
  }

  return async function send(group) {
    try {
      return await answered(group)
    } catch (cause) {
      if (cause instanceof ServiceError) throw new ToolsError('SERVICE_UNAVAILABLE', cause.message, { cause })
      // A status of 413 means that the group has too many bytes. 422 means that checking the group took too long.
      if (!(cause instanceof ToolsError) || (cause.status !== 413 && cause.status !== 422)) throw cause
      if (group.texts.length > 1) return 'halve'
      const { reason = 'SERVICE_REFUSED', message } = cause
      return { written: [], refused: [{ index: group.from, reason, pointer: '', message }] }
    }
  }
}

function definedIn(text: string, from: number): Defined {
  const answer = parsedJson(text)
  const { results, refused = [] } = isJsonObject(answer) ? answer : {}
  if (!Array.isArray(results) || !Array.isArray(refused))
    throw new ServiceError('UNREADABLE', 'The answer did not come from the service.')
  const refusals = (refused as unknown as readonly RefusedTool[]).map((one) => ({
    ...one,
    index: from + one.index,
  }))
  const isRefused = new Set(refusals.map(({ index }) => index))
  // `results` has only the definitions that were not refused, in the order of the group.
  let index = from - 1
  const written = (results as unknown as readonly DefinedTool[]).map(({ name, digest, outcome }) => {
    do index += 1
    while (isRefused.has(index))
    return { index, name, digest, outcome }
  })
  return { written, refused: refusals }
}
