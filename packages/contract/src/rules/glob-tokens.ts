/**
 * What the wildcards of a glob mean.
 *
 * - `name`: `*` is any characters, and `?` is one character.
 * - `text`: `*` is any characters. `?` is compared as it is, because it is frequent in texts such as URLs.
 * - `path`: `*` is any characters except `/`. `**` is any characters. A segment `**` is any number of folders, also none.
 */
export type GlobKind = 'name' | 'text' | 'path'

/**
 * One token of a glob: the code point of a character, or one of the wildcards, which are negative. `FOLDERS` is always followed by
 * `FOLDER`: the matcher is in `FOLDERS` between two folders, and in `FOLDER` inside the name of one.
 */
export type Token = number
export const ONE = -1
export const WITHIN = -2
export const ACROSS = -3
export const FOLDERS = -4
export const FOLDER = -5

export const SLASH = 0x2f

/** The tokens of a glob. Several segments `**` are the same as one. */
export function tokensOf(glob: string, kind: GlobKind): Int32Array {
  const tokens: Token[] = []
  const parts = glob.matchAll(kind === 'path' ? /(?<=^|\/)(?:\*{2,}\/)+|\*+|[^*]/gsu : /\*+|[^*]/gsu)
  for (const [part] of parts) {
    if (!part.startsWith('*')) tokens.push(kind === 'name' && part === '?' ? ONE : codeOf(part))
    else if (part.endsWith('/')) tokens.push(FOLDERS, FOLDER)
    else tokens.push(kind === 'path' && part === '*' ? WITHIN : ACROSS)
  }
  return Int32Array.from(tokens)
}

export function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0
}
