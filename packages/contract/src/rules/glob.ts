/**
 * The most characters of a glob. If it is for paths or has a `?`, each 32 of its characters cost a step for each character of the
 * text.
 */
export const GLOB_LENGTH_MAX = 256

/**
 * What the wildcards in a glob mean. In a `name` or a `text`, `*` matches any characters, and `?` matches one character. In a
 * `path`, `*` matches any characters except `/`, `?` matches one character except `/`, and `**` matches any characters. A segment
 * `**` matches any number of folders, also none.
 */
export type GlobKind = 'name' | 'text' | 'path'

/** True if the glob matches every text. */
export function matchesEveryText(glob: string, kind: GlobKind): boolean {
  return (kind === 'path' ? /^\*{2,}$/ : /^\*+$/).test(glob)
}
