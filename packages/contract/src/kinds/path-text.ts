/**
 * A path without `.`, empty segments and `..`, as POSIX reads it without links: `src/../etc` is `etc`. A relative path that
 * leaves its folder keeps its leading `..`. The empty path is `.`.
 */
export function normalisedPath(path: string): string {
  const kept: string[] = []
  const isAbsolute = path.startsWith('/')
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue
    if (segment !== '..') kept.push(segment)
    else if (kept.length > 0 && kept.at(-1) !== '..') kept.pop()
    else if (!isAbsolute) kept.push(segment)
  }
  const joined = kept.join('/')
  if (isAbsolute) return `/${joined}`
  return joined === '' ? '.' : joined
}
