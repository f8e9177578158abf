/** The most characters of a glob. */
export const GLOB_LENGTH_MAX = 256

/**
 * What the wildcards of a glob mean.
 *
 * - `name`, `text`: `*` is any characters, and `?` is one character.
 * - `path`: `*` is any characters except `/`, and `?` is one character except `/`. `**` is any characters. A segment `**` is any
 *   number of folders, also none.
 */
export type GlobKind = 'name' | 'text' | 'path'

/** Compares a glob of the kind `text` without `?` with many texts. */
export function textMatcher(glob: string): (text: string) => boolean {
  const parts = glob.split(/\*+/)
  return (text) => matchesParts(parts, text, LITERALLY)
}

/** Compares a glob of the kind `name` with many texts, which have no characters beyond U+FFFF, as names of tools have none. */
export function nameMatcher(glob: string): (name: string) => boolean {
  const parts = glob.split(/\*+/)
  const match = glob.includes('?') ? WITH_SINGLES : LITERALLY
  return (name) => matchesParts(parts, name, match)
}

/** Compares a part without `*`: at one place, and at the first place from there on. */
type PartMatch = {
  readonly fits: (part: string, text: string, at: number) => boolean
  readonly find: (part: string, text: string, from: number) => number
}

const LITERALLY: PartMatch = {
  fits: (part, text, at) => text.startsWith(part, at),
  find: (part, text, from) => text.indexOf(part, from),
}

const WITH_SINGLES: PartMatch = {
  fits(part, text, at) {
    if (at + part.length > text.length) return false
    for (let index = 0; index < part.length; index += 1)
      if (part[index] !== '?' && part[index] !== text[at + index]) return false
    return true
  },
  find(part, text, from) {
    for (let at = from; at + part.length <= text.length; at += 1)
      if (WITH_SINGLES.fits(part, text, at)) return at
    return -1
  },
}

/** True if the text is these parts in their order, with any characters between two of them. */
function matchesParts(parts: readonly string[], text: string, { fits, find }: PartMatch): boolean {
  const first = parts[0] ?? ''
  const last = parts.at(-1) ?? ''
  if (parts.length === 1) return text.length === first.length && fits(first, text, 0)
  if (!fits(first, text, 0)) return false
  let from = first.length
  for (let index = 1; index < parts.length - 1; index += 1) {
    const part = parts[index] ?? ''
    const found = find(part, text, from)
    if (found === -1) return false
    from = found + part.length
  }
  const end = text.length - last.length
  return end >= from && fits(last, text, end)
}

/** True if the glob matches every text. */
export function matchesEveryText(glob: string, kind: GlobKind): boolean {
  return (kind === 'path' ? /^\*{2,}$/ : /^\*+$/).test(glob)
}
