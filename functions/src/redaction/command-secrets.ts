import { REDACTED, type Removed } from './redacted.ts'
import { isSecretName } from './secret-names.ts'
import { valueEnd } from './secret-value.ts'

/** Matches an option of a command whose value is the next word. The name of the option tells whether the value is a secret. */
const NAMED = /(?<![\w-])--([A-Za-z][\w-]{0,63})[ \t]{1,3}(?!-)/g

/**
 * Matches a user and a password after an option, as in `-u name:password`. Does not match `-u 1000:1000`, which names a user and
 * a group, or an address.
 */
const USER =
  /((?<![\w-])(?:-u|-U|--user|--proxy-user)[ \t=]{0,3}["']?[^\s:"']{1,64}:)(?!\/\/|\d+(?![^\s"']))[^\s"']+/g

/** Matches programs whose option -p is followed by a password. In most other programs, -p has another meaning. */
const PASSWORD_PROGRAM =
  /\b(?:sshpass|mysql\w{0,10}|mariadb\w{0,10}|mongo\w{0,10}|7za?|(?:docker|podman|buildah|helm|oras)(?: registry)? login)\b/
const PASSWORD = new RegExp(
  String.raw`(${PASSWORD_PROGRAM.source}[^\n|;&]{0,200}?[ \t]-p[ \t]{0,3}["']?)(?!-)[^\s"']+`,
  'g',
)

/**
 * Removes the secret from an item of a command line. The item has a secret if the item before it is an option for one: `["-u",
 * "user:x"]`, `["sshpass", "-p", "x"]`. Undefined for all other items.
 */
export function withoutListedSecret(list: readonly unknown[], index: number): string | undefined {
  const [option, value] = [list[index - 1], list[index]]
  if (typeof value !== 'string' || (option !== '-p' && option !== '-u' && option !== '--user'))
    return undefined
  if (option !== '-p') return value.replace(/^([^\s:]{1,64}:)(?!\/\/|\d+$)[^]+$/, `$1${REDACTED}`)
  const program = list.slice(0, 3).map((word) => (typeof word === 'string' ? word.slice(0, 64) : ''))
  return PASSWORD_PROGRAM.test(program.join(' ')) ? REDACTED : undefined
}

/** Removes the secrets of commands from a text: `--password x`, `-u user:x`, `sshpass -p x`. */
export function withoutCommandSecrets(text: string, removed?: Removed): string {
  if (!/(?:^|[^\w-])-/.test(text)) return text
  const hidden = (all: string, kept: string): string => {
    removed?.(all.slice(kept.length))
    return kept + REDACTED
  }
  return withoutNamed(text, removed).replace(USER, hidden).replace(PASSWORD, hidden)
}

function withoutNamed(text: string, removed: Removed | undefined): string {
  let shown = ''
  let from = 0
  let lineEnd = -1
  for (const option of text.matchAll(NAMED)) {
    const [all, name = ''] = option
    const start = option.index + all.length
    if (option.index < from || !isSecretName(name)) continue
    if (lineEnd < start) lineEnd = endOfLine(text, start)
    const value = text.slice(start, lineEnd)
    const { end } = valueEnd(value, 0)
    if (end === 0) continue
    const quote = /^["']/.exec(value)?.[0] ?? ''
    removed?.(value.slice(quote.length, end - quote.length))
    shown += `${text.slice(from, start)}${quote}${REDACTED}${quote}`
    from = start + end
  }
  return shown + text.slice(from)
}

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  return end === -1 ? text.length : end
}
