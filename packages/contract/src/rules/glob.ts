/**
 * What the wildcards of a glob mean.
 *
 * - `name`: `*` is any characters, and `?` is one character.
 * - `text`: `*` is any characters. `?` is compared as it is, because it is frequent in texts such as URLs.
 * - `path`: `*` is any characters except `/`. `**` is any characters. A segment `**` is any number of folders, also none.
 */
export type GlobKind = 'name' | 'text' | 'path'

/**
 * One token of a glob: a character, or a wildcard. `folders` is always followed by `folder`: the matcher is in `folders`
 * between two folders, and in `folder` inside the name of one.
 */
type Token = { readonly character: string } | 'one' | 'within' | 'across' | 'folders' | 'folder'

/**
 * True if the whole text matches the glob. The time is at most proportional to the product of both lengths, whatever the texts
 * are. Most pairs are decided by a search for the literal parts, because a call compares up to 200 rules.
 */
export function matchesGlob(glob: string, text: string, kind: GlobKind): boolean {
  const isLiteral = kind === 'text' || !glob.includes('?')
  if (kind !== 'path' && isLiteral) return matchesParts(glob.split(/\*+/), text)
  const [literalStart = ''] = kind === 'path' ? glob.split('*', 1) : glob.split(/[*?]/, 1)
  return text.startsWith(literalStart) && matchesTokens(glob, text, kind)
}

/** True if the text is these parts in their order, with any characters between two of them. */
function matchesParts(parts: readonly string[], text: string): boolean {
  const [first = '', ...rest] = parts
  const last = rest.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first)) return false
  let from = first.length
  for (const part of rest) {
    const found = text.indexOf(part, from)
    if (found === -1) return false
    from = found + part.length
  }
  return text.length - last.length >= from && text.endsWith(last)
}

function matchesTokens(glob: string, text: string, kind: GlobKind): boolean {
  const matcher = new GlobMatcher(glob, kind)
  let positions = matcher.start
  for (const character of text) {
    if (positions.size === 0) return false
    positions = matcher.after(positions, character)
  }
  return matcher.isEnd(positions)
}

/** Follows all possible positions in a glob at once, character by character. */
export class GlobMatcher {
  readonly #tokens: readonly Token[]

  constructor(glob: string, kind: GlobKind) {
    this.#tokens = tokensOf(glob, kind)
  }

  get start(): ReadonlySet<number> {
    return withSkipped(this.#tokens, [0])
  }

  /** Every character that the glob names. All others are the same to it. */
  get characters(): readonly string[] {
    return this.#tokens.flatMap((token) => (typeof token === 'object' ? [token.character] : []))
  }

  after(positions: ReadonlySet<number>, character: string): ReadonlySet<number> {
    const tokens = this.#tokens
    return withSkipped(
      tokens,
      [...positions].flatMap((position) => after(tokens, position, character)),
    )
  }

  /** True if the characters so far match the whole glob. */
  isEnd(positions: ReadonlySet<number>): boolean {
    return positions.has(this.#tokens.length)
  }
}

/** True if the glob matches every text. */
export function matchesEveryText(glob: string, kind: GlobKind): boolean {
  return (kind === 'path' ? /^\*{2,}$/ : /^\*+$/).test(glob)
}

function tokensOf(glob: string, kind: GlobKind): readonly Token[] {
  const tokens: Token[] = []
  const parts = glob.matchAll(kind === 'path' ? /(?<=^|\/)\*{2,}\/|\*+|[^*]/gsu : /\*+|[^*]/gsu)
  for (const [part] of parts) {
    if (!part.startsWith('*')) tokens.push(kind === 'name' && part === '?' ? 'one' : { character: part })
    else if (part.endsWith('/')) tokens.push('folders', 'folder')
    else tokens.push(kind === 'path' && part === '*' ? 'within' : 'across')
  }
  return tokens
}

/** The positions to which a character leads from a position. */
function after(tokens: readonly Token[], position: number, character: string): readonly number[] {
  const token = tokens[position]
  if (token === undefined) return []
  if (typeof token === 'object') return token.character === character ? [position + 1] : []
  if (token === 'one') return [position + 1]
  if (token === 'within') return character === '/' ? [] : [position]
  if (token === 'folders') return [character === '/' ? position : position + 1]
  if (token === 'folder') return [character === '/' ? position - 1 : position]
  return [position]
}

/** The positions, and those that they reach if wildcards match nothing. */
function withSkipped(tokens: readonly Token[], positions: readonly number[]): ReadonlySet<number> {
  const all = new Set(positions)
  // A set that grows while it is iterated also gives its new elements.
  for (const position of all) {
    const token = tokens[position]
    if (token === 'within' || token === 'across') all.add(position + 1)
    else if (token === 'folders') all.add(position + 2)
  }
  return all
}
