import { ToolrackError, type JsonObject } from '@toolrack/contract'

/** A tool that the service runs itself. `args` already fit the schema of the tool. `now` returns milliseconds since 1970. */
export type Builtin = (
  args: JsonObject,
  context: { readonly now: () => number; readonly finder: Finder },
) => unknown

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

/** The built-in tools by which a model finds other tools. A list contains them only if its query asks for them. */
export const FINDERS: ReadonlySet<Builtin> = new Set([searchTools, loadTools])

/** The names of the tools of `FINDERS` in the service's definition files, in the order in which a list has them. */
export const FINDER_NAMES = ['load_tools', 'search_tools']

/** Every built-in tool, by the name that a definition's runner uses for it: `{"kind":"builtin","builtin":"echo"}`. */
export const BUILTINS: ReadonlyMap<string, Builtin> = new Map([
  ['echo', echo],
  ['time', time],
  ['search_tools', searchTools],
  ['load_tools', loadTools],
])
