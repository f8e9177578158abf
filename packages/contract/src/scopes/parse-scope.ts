import { GLOB_LENGTH_MAX } from '../rules/glob.ts'

/** One item of a scope. It compares the tool's name with a glob, or its category (`@group`), or its tags. */
export type ScopeItem = {
  readonly excludes: boolean
  readonly by: 'name' | 'group' | 'tag'
  /** The glob, the category or the tag, without `!`, `@` and `tag:`. */
  readonly text: string
}

/** Which tools a list has: all, none, or those that `inScope` finds by the items. */
export type Scope =
  { readonly kind: 'all' | 'none' } | { readonly kind: 'items'; readonly items: readonly ScopeItem[] }

/**
 * Why a text is not a scope. `position` is where the fault is, in UTF-16 code units from 0. `fault` can follow the name of the
 * parameter, for example `has an empty item`. It never repeats the text. The hint is a sentence.
 */
export type ScopeFault = { readonly fault: string; readonly position: number; readonly hint?: string }

/** The most characters of a scope. A scope is part of an address, which must leave room for other headers. */
export const SCOPE_LENGTH_MAX = 1_000
/** The most items of a scope. Each item is compared with every tool of a list. */
export const SCOPE_ITEMS_MAX = 50
/** The longest category or tag of a definition. */
const LABEL_LENGTH_MAX = 64

const ALL: Scope = { kind: 'all' }
const NONE: Scope = { kind: 'none' }

const TAG = 'tag:'

/**
 * Parses `all`, `none` or `item(,item)*`. An item is an optional `!`, followed by a glob over names, `@group` or `tag:name`.
 * Blanks around items are ignored. In a glob, `*` matches any characters and `?` matches one character.
 */
export function parseScope(text: string): Scope | ScopeFault {
  if (text.length > SCOPE_LENGTH_MAX)
    return fault(SCOPE_LENGTH_MAX, `has ${text.length} characters; at most ${SCOPE_LENGTH_MAX} are allowed`)
  const whole = text.trim()
  if (whole === 'all') return ALL
  if (whole === 'none') return NONE
  if (whole === '') return fault(0, 'is empty', 'Did you mean all, or none?')
  const parts = text.split(',')
  const items: ScopeItem[] = []
  let start = 0
  for (const part of parts) {
    const position = start + part.length - part.trimStart().length
    if (items.length === SCOPE_ITEMS_MAX)
      return fault(position, `has ${parts.length} items; at most ${SCOPE_ITEMS_MAX} are allowed`, FEWER)
    const item = parseItem(part.trim(), position)
    if ('fault' in item) return item
    items.push(item)
    start += part.length + 1
  }
  return { kind: 'items', items }
}

const FEWER = 'Did you mean a glob (git_*), a group (@web) or a tag (tag:safe)?'

/** The fault as a text, with its position, counted from 1, and its hint. */
export function scopeFaultText({ fault: text, position, hint }: ScopeFault): string {
  return `${text}, at character ${position + 1}.${hint === undefined ? '' : ` ${hint}`}`
}

/** The scope of one group. It is the same as that of the text `@group`. */
export function groupScope(group: string): Scope | ScopeFault {
  const item = labelItem({ excludes: false, by: 'group' }, group, 0)
  return 'fault' in item ? item : { kind: 'items', items: [item] }
}

function parseItem(item: string, position: number): ScopeItem | ScopeFault {
  const excludes = item.startsWith('!')
  const body = excludes ? item.slice(1).trimStart() : item
  const at = position + item.length - body.length
  if (item === '') return fault(at, 'has an empty item', 'Is there a comma too many?')
  if (body === '') return fault(at, 'has nothing after the !', 'Did you mean a name, such as !git_push?')
  if (body.startsWith('!')) return fault(at, 'has two ! in one item', 'Did you mean one?')
  if (body === 'all' || body === 'none')
    return fault(at, `has ${body} beside other signs`, `Did you mean ${body} alone, or the glob *?`)
  if (body.startsWith('@')) return labelItem({ excludes, by: 'group' }, body.slice(1), at + 1)
  if (body.startsWith(TAG)) return labelItem({ excludes, by: 'tag' }, body.slice(TAG.length), at + TAG.length)
  return globItem(excludes, body, at)
}

/** Makes an item for a category or a tag. Categories and tags are compared as a whole, without wildcards. */
function labelItem(kind: Omit<ScopeItem, 'text'>, body: string, position: number): ScopeItem | ScopeFault {
  const text = body.trim()
  const [what, example] = kind.by === 'group' ? ['group', '@web'] : ['tag', 'tag:safe']
  if (text === '') return fault(position, `has no name of a ${what}`, `Did you mean ${example}?`)
  if (text.length > LABEL_LENGTH_MAX)
    return fault(position, `has a ${what} of more than ${LABEL_LENGTH_MAX} characters`)
  const wildcard = body.search(/[*?,]/)
  if (wildcard === -1) return { ...kind, text }
  const rule = `has a character in a ${what} that is not allowed there`
  return fault(position + wildcard, rule, `Did you mean ${example}? Wildcards are for names of tools.`)
}

function globItem(excludes: boolean, body: string, position: number): ScopeItem | ScopeFault {
  const wrong = body.search(/[^A-Za-z0-9_.:*?-]/)
  if (wrong !== -1)
    return fault(position + wrong, 'has a character that no name of a tool has', hintFor(body, wrong))
  if (body.length > GLOB_LENGTH_MAX)
    return fault(position, `has a glob of more than ${GLOB_LENGTH_MAX} characters`)
  return { excludes, by: 'name', text: body.replaceAll(/\*{2,}/g, '*') }
}

function hintFor(body: string, wrong: number): string {
  if (/^[[{"']/.test(body)) return 'Did you mean items with commas between them, without brackets and quotes?'
  if (/^(?:tags?|group|category)\s*[=:]/.test(body)) return 'Did you mean tag:NAME, or @GROUP?'
  const character = body.charAt(wrong)
  if (/\s/.test(character)) return 'Did you mean a comma instead of the blank?'
  if (character === '@') return 'Did you mean a group, such as @web, as an item of its own?'
  if (character === '/') return 'Did you mean ref:KIND/ID as the whole scope?'
  if (/[[{]/.test(character)) return 'Did you mean several items? Only * and ? are wildcards.'
  return 'Names have letters, digits, _ . : and -; the wildcards are * and ?'
}

function fault(position: number, text: string, hint?: string): ScopeFault {
  return { fault: text, position, ...(hint !== undefined && { hint }) }
}
