import { INTERNAL_GROUP } from './in-scope.ts'
import { groupScope, type Scope, type ScopeFault } from './parse-scope.ts'

/** What a `/tools` command means: to show the tools, or to set the scope. */
export type ScopeCommand = { readonly does: 'show' } | { readonly does: 'set'; readonly scope: Scope }

const COMMAND = /^\s*\/tools(?:\s+|$)/i
/** The most characters of a command. A command is a word and a category. */
const LENGTH_MAX = 200

const KNOWN =
  'Commands are /tools, /tools list, /tools on, /tools off, /tools internal and /tools GROUP, where GROUP is a category.'

/**
 * Parses a command that a user writes in a room:
 *
 * - `/tools` and `/tools list` show the tools.
 * - `/tools off` sets the scope `none`, and `/tools on` the scope `all`.
 * - `/tools internal` sets the scope of the tools that the service runs itself.
 * - `/tools GROUP` sets the scope of a category.
 *
 * Upper and lower case differ only in the names of groups.
 */
export function parseScopeCommand(text: string): ScopeCommand | ScopeFault {
  if (text.length > LENGTH_MAX)
    return { fault: `has ${text.length} characters; at most ${LENGTH_MAX} are allowed`, position: LENGTH_MAX }
  const [start] = COMMAND.exec(text) ?? []
  if (start === undefined) return { fault: 'is no /tools command', position: 0, hint: KNOWN }
  const word = text.slice(start.length).trim()
  const keyword = word.toLowerCase()
  if (keyword === '' || keyword === 'list') return { does: 'show' }
  if (keyword === 'on') return { does: 'set', scope: { kind: 'all' } }
  if (keyword === 'off') return { does: 'set', scope: { kind: 'none' } }
  if (keyword === 'all' || keyword === 'none') {
    const hint = `Did you mean /tools ${keyword === 'all' ? 'on' : 'off'}?`
    return { fault: `has the word ${keyword}, which is no command`, position: start.length, hint }
  }
  const scope = groupScope(keyword === INTERNAL_GROUP ? keyword : word.replace(/^@/, ''))
  if ('fault' in scope) return { ...scope, position: start.length + scope.position, hint: KNOWN }
  return { does: 'set', scope }
}
