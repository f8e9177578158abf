/** The `Link` header with the address of the next page: the same request with this cursor. The last page has neither. */
export function nextPage(path: string, search: string, cursor: string | undefined): Record<string, string> {
  if (cursor === undefined) return {}
  const query = new URLSearchParams(search)
  query.set('cursor', cursor)
  return { Link: `<${path}?${query.toString()}>; rel="next"` }
}
