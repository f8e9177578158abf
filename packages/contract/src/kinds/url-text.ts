import { spelled, type Canonical } from './canonical.ts'

/**
 * The href of WHATWG's standard: the scheme and the host in lower case, without the usual port and dot segments. A path of a file
 * that begins with several slashes keeps one, because readers of URLs differ there.
 */
export function canonicalUrl(text: string): Canonical {
  if (URL.canParse(text)) return spelled(new URL(text).href.replace(/^(file:\/\/[^/]*)\/{2,}/, '$1/'))
  // A reader of URLs drops tabs and line ends wherever they are. What then begins with no scheme is no URL for anybody.
  // oxlint-disable-next-line no-control-regex -- Control characters are what the pattern looks for.
  return /^[\u0000-\u0020]*[a-z][\t\n\ra-z\d+.-]*:/i.test(text) ? 'unclear' : 'none'
}
