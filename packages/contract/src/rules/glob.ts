/** The most characters of a glob. */
export const GLOB_LENGTH_MAX = 256

/**
 * What the wildcards of a glob mean.
 *
 * - `name`: `*` is any characters, and `?` is one character.
 * - `text`: `*` is any characters. `?` is compared as it is, because it is frequent in texts such as URLs.
 * - `path`: `*` is any characters except `/`. `**` is any characters. A segment `**` is any number of folders, also none.
 */
export type GlobKind = 'name' | 'text' | 'path'

/** True if `?` is a wildcard. */
export function hasSingles(kind: GlobKind): boolean {
  return kind === 'name'
}

/** True if the glob matches every text. */
export function matchesEveryText(glob: string, kind: GlobKind): boolean {
  return (kind === 'path' ? /^\*{2,}$/ : /^\*+$/).test(glob)
}
