import { spelled, type Canonical } from './canonical.ts'

/** The most UTF-16 code units of a host. A longer one is no name in DNS, and the time to read it grows with its square. */
const HOST_LENGTH_MAX = 256

/** A URL whose host is read, up to the end of its host, if tabs and line ends are left out. A host is also behind a `\\`. */
// oxlint-disable-next-line no-control-regex -- Control characters are what the pattern looks for.
const WITH_HOST = /^[\u0000-\u0020]*(?:(?:https?|wss?|ftp):[/\\]*|file:[/\\]{2})([^/\\?#]*)/i

/**
 * The href of WHATWG's standard: the scheme and the host in lower case, without the usual port and dot segments. A path of a file
 * that begins with several slashes keeps one, because readers of URLs differ there.
 */
export function canonicalUrl(text: string): Canonical {
  if (hasLongHost(text)) return 'unclear'
  if (URL.canParse(text)) return spelled(new URL(text).href.replace(/^(file:\/\/[^/]*)\/{2,}/, '$1/'))
  // A reader of URLs drops tabs and line ends wherever they are. What then begins with no scheme is no URL for anybody.
  // oxlint-disable-next-line no-control-regex -- Control characters are what the pattern looks for.
  return /^[\u0000-\u0020]*[a-z][\t\n\ra-z\d+.-]*:/i.test(text) ? 'unclear' : 'none'
}

function hasLongHost(text: string): boolean {
  const [, authority = ''] = WITH_HOST.exec(text.replaceAll(/[\t\n\r]/g, '')) ?? []
  return authority.length - (authority.lastIndexOf('@') + 1) > HOST_LENGTH_MAX
}
