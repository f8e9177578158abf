/**
 * The most characters of a glob. If it is for paths or has a `?`, each 32 of its characters cost a step for each character of the
 * text.
 */
export const GLOB_LENGTH_MAX = 256

/**
 * The meaning of the wildcards in a glob.
 *
 * - `name`, `text`: `*` matches any characters, and `?` matches one character.
 * - `path`: `*` matches any characters except `/`, and `?` matches one character except `/`. `**` matches any characters. A
 *   segment `**` matches any number of folders, also none.
 */
export type GlobKind = 'name' | 'text' | 'path'

/** True if the glob matches every text. */
export function matchesEveryText(glob: string, kind: GlobKind): boolean {
  return (kind === 'path' ? /^\*{2,}$/ : /^\*+$/).test(glob)
}
