import { ToolrackError, type JsonObject } from '@toolrack/contract'

/** A tool that the service runs itself. `args` already fit the schema of the tool. `now` returns milliseconds since 1970. */
export type Builtin = (
  args: JsonObject,
  context: {
    readonly now: () => number
    readonly finder: Finder
    /** Undefined on a service that keeps no artifacts. */
    readonly artifacts?: ReadsArtifacts | undefined
  },
) => unknown

/** A part of an artifact that a model wants to read. `offset` counts bytes. */
export type WantedPart = {
  readonly id: string
  readonly offset?: number | undefined
  readonly lines?: number | undefined
  readonly search?: string | undefined
}

/** Reads artifacts for a built-in tool: only those that the caller of the tool may read. */
export type ReadsArtifacts = { readonly read: (part: WantedPart) => Promise<JsonObject> }

/** Finds tools for a built-in tool. It finds only tools that the caller of the built-in tool may see. */
export type Finder = {
  readonly search: (query: string, limit?: number) => Promise<JsonObject>
  readonly load: (names: readonly string[]) => JsonObject
}

const echo: Builtin = ({ text }) => text

export const time = ({ timeZone = 'UTC' }: JsonObject, { now }: { readonly now: () => number }) => {
  const moment = new Date(now())
  const format = formatFor(typeof timeZone === 'string' ? timeZone : '')
  const parts = format.formatToParts(moment).map(({ type, value }) => [type, value] as const)
  const { year, month, day, hour, minute, second, weekday, timeZoneName } = Object.fromEntries(parts)
  return {
    utc: moment.toISOString(),
    timeZone,
    local: `${year}-${month}-${day}T${hour}:${minute}:${second}`,
    offset: timeZoneName === 'GMT' ? '+00:00' : timeZoneName?.slice('GMT'.length),
    weekday,
  }
}

function formatFor(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-GB', {
      timeZone,
      weekday: 'long',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      timeZoneName: 'longOffset',
    })
  } catch (error) {
    const message =
      "'timeZone' is not the IANA name of a time zone; name one such as 'Europe/Zurich', or leave it out."
    throw new ToolrackError('ARGUMENTS_INVALID', message, { cause: error })
  }
}

const searchTools: Builtin = ({ query, limit }, { finder }) =>
  finder.search(typeof query === 'string' ? query : '', typeof limit === 'number' ? limit : undefined)

const loadTools: Builtin = ({ names }, { finder }) =>
  finder.load(Array.isArray(names) ? names.map(String) : [])

/** Reads an artifact. Its result is a page that ends before a text is cut, so it is neither kept nor cut. */
export const readArtifact: Builtin = ({ id, offset, lines, search }, { artifacts }) => {
  if (!artifacts) throw new ToolrackError('KIND_NOT_SERVED', 'This service keeps no artifacts.')
  return artifacts.read({
    id: typeof id === 'string' ? id : '',
    offset: typeof offset === 'number' ? offset : undefined,
    lines: typeof lines === 'number' ? lines : undefined,
    search: typeof search === 'string' ? search : undefined,
  })
}

/**
 * The built-in tools that a list contains only if its query asks for them: those by which a model finds other tools, and the one
 * that reads artifacts.
 */
export const FINDERS: ReadonlySet<Builtin> = new Set([searchTools, loadTools, readArtifact])

/** The name of the tool that reads artifacts, in the service's definition files. */
export const READ_ARTIFACT_NAME = 'read_artifact'

/** The names of the tools that find other tools in the service's definition files, in the order in which a list has them. */
export const FINDER_NAMES = ['load_tools', 'search_tools']

/** Every built-in tool, by the name that a definition's runner uses for it: `{"kind":"builtin","builtin":"echo"}`. */
export const BUILTINS: ReadonlyMap<string, Builtin> = new Map([
  ['echo', echo],
  ['time', time],
  ['search_tools', searchTools],
  ['load_tools', loadTools],
  ['read_artifact', readArtifact],
])
