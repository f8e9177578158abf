/** The most characters of a glob. Where it is of a path or has `?`, each 32 of them cost a step for each character of the text. */
export const GLOB_LENGTH_MAX = 256

/**
 * What the wildcards of a glob mean.
 *
 * - `name`, `text`: `*` is any characters, and `?` is one character.
 * - `path`: `*` is any characters except `/`, and `?` is one character except `/`. `**` is any characters. A segment `**` is any
 *   number of folders, also none.
 */
export type GlobKind = 'name' | 'text' | 'path'

/** True if the glob matches every text. */
export function matchesEveryText(glob: string, kind: GlobKind): boolean {
  return (kind === 'path' ? /^\*{2,}$/ : /^\*+$/).test(glob)
}
