import { spelled, type Canonical } from './canonical.ts'

/** The href of WHATWG's standard: the scheme and the host in lower case, without the usual port and dot segments. */
export function canonicalUrl(text: string): Canonical {
  if (URL.canParse(text)) return spelled(new URL(text).href)
  // A reader of URLs drops tabs and line ends wherever they are. What then begins with no scheme is no URL for anybody.
  return /^[a-z][\t\n\ra-z\d+.-]*:/i.test(text.replace(/^[\u0000-\u0020]+/, '')) ? 'unclear' : 'none'
}
