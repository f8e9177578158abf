import { spelled, type Canonical } from './canonical.ts'

/**
 * The most UTF-16 code units of a host. DNS allows no longer host, and the time to read a host grows with the square of its
 * length.
 */
const HOST_LENGTH_MAX = 256

/**
 * Matches the beginning of a URL up to the end of its host, if its scheme has a host. Tabs and line ends must be removed first. A
 * host can also follow a `\\`.
 */
// oxlint-disable-next-line no-control-regex -- Control characters are what the pattern looks for.
const WITH_HOST = /^[\u0000-\u0020]*(?:(?:https?|wss?|ftp):[/\\]*|file:[/\\]{2})([^/\\?#]*)/i

/**
 * Spells a URL as in the WHATWG standard: with the scheme and the host in lower case, and without the usual port and dot
 * segments. If the path of a `file` URL begins with several slashes, only one stays, because readers of URLs differ here.
 */
export function canonicalUrl(text: string): Canonical {
  if (hasLongHost(text)) return 'unclear'
  if (URL.canParse(text)) return spelled(new URL(text).href.replace(/^(file:\/\/[^/]*)\/{2,}/, '$1/'))
  // Readers of URLs ignore all tabs and line ends. If the text then does not begin with a scheme, no reader takes it for a URL.
  // oxlint-disable-next-line no-control-regex -- Control characters are what the pattern looks for.
  return /^[\u0000-\u0020]*[a-z][\t\n\ra-z\d+.-]*:/i.test(text) ? 'unclear' : 'none'
}

function hasLongHost(text: string): boolean {
  const [, authority = ''] = WITH_HOST.exec(text.replaceAll(/[\t\n\r]/g, '')) ?? []
  return authority.length - (authority.lastIndexOf('@') + 1) > HOST_LENGTH_MAX
}
