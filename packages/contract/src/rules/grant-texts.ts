import type { Grant } from '../grants.ts'

/** A text of a grant. For packages it has two parts: the name, and the rest of the requirement. `rest` is else empty. */
export type GrantText = { readonly name: string; readonly rest: string }

/** A part of what a grant permits. A rule matches it if the rule's glob matches one of the texts. */
export type GrantUse = {
  readonly texts: readonly GrantText[]
  /** Further texts that only `deny` and `ask` compare, because an `allow` of such a text means less than this use. */
  readonly also: readonly GrantText[]
}

/** The ports of a host without a port. `PORTS` of the runner's `hosts.py` has the same. */
const DEFAULT_PORTS: readonly string[] = ['80', '443']

/** What a grant permits: a use for each port of a host, and one for a package or a secret. */
export function grantUses({ kind, value }: Grant): readonly GrantUse[] {
  if (kind === 'network') return hostUses(value)
  if (kind === 'packages') return [packageUse(value)]
  const own = value.startsWith(OF_CALLER) ? [plain(value.slice(OF_CALLER.length))] : []
  return [{ texts: [plain(value)], also: own }]
}

/** How the grant of a secret of the caller begins. */
const OF_CALLER = 'caller:'

/** A glob of hosts as it is compared: in lower case, and without full stops at the end of the host. */
export function hostGlob(glob: string): string {
  const at = glob.lastIndexOf(':')
  const host = canonicalHost(at < 0 ? glob : glob.slice(0, at))
  return at < 0 ? host : `${host}${glob.slice(at)}`
}

/**
 * A glob of packages as it is compared. `name` is compared with the normalised name (PEP 503), and `rest` with what follows it in
 * the requirement. A glob of only a name matches any rest.
 */
export function packageGlob(glob: string): GrantText {
  const { name, rest } = requirement(glob, /[A-Za-z0-9._*?-]/)
  return { name, rest: rest === '' ? '*' : rest }
}

function hostUses(value: string): readonly GrantUse[] {
  const at = value.lastIndexOf(':')
  const port = at < 0 ? undefined : value.slice(at + 1)
  const isPort = port !== undefined && /^\d{1,5}$/.test(port)
  const host = canonicalHost(isPort ? value.slice(0, at) : value)
  return (isPort ? [port] : DEFAULT_PORTS).map((one) => {
    const withPort = plain(`${host}:${one}`)
    return DEFAULT_PORTS.includes(one)
      ? { texts: [withPort, plain(host)], also: [] }
      : { texts: [withPort], also: [plain(host)] }
  })
}

/** A host with a full stop at its end is the same host. */
function canonicalHost(host: string): string {
  let end = host.length
  while (host.charAt(end - 1) === '.') end -= 1
  return host.slice(0, end).toLowerCase()
}

function packageUse(value: string): GrantUse {
  const text = requirement(value, /[A-Za-z0-9._-]/)
  const { name, rest } = text
  const end = rest.startsWith('[') ? rest.indexOf(']') + 1 : 0
  return { texts: [text], also: end > 0 ? [{ name, rest: rest.slice(end) }] : [] }
}

/**
 * The normalised name (PEP 503) of a requirement, and its rest in lower case without spaces. `ofName` matches a character of the
 * name.
 */
function requirement(value: string, ofName: RegExp): GrantText {
  const text = value.replaceAll(/\s/g, '').toLowerCase()
  let name = ''
  let at = 0
  for (; at < text.length && ofName.test(text.charAt(at)); at += 1) {
    const character = text.charAt(at)
    const isSeparator = character === '-' || character === '_' || character === '.'
    if (!isSeparator) name += character
    else if (!name.endsWith('-')) name += '-'
  }
  return { name, rest: text.slice(at) }
}

function plain(text: string): GrantText {
  return { name: text, rest: '' }
}
