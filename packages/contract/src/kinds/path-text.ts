/**
 * Removes `.`, `..` and empty segments from a path, as POSIX reads a path without links: `src/../etc` becomes `etc`. If a
 * relative path leads out of its folder, the leading `..` stay. The empty path becomes `.`.
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
