import {
  GRANT_KINDS,
  ToolrackError,
  type AskedConsent,
  type Grant,
  type GrantKind,
  type Layer,
} from '@toolrack/contract'
import type { CatalogEntry } from './catalog-entry.ts'

/**
 * The most grants that a sentence names. A module may ask for hundreds of hosts, and a person must be able to read the sentence.
 */
const GRANTS_NAMED_MAX = 12

/** The order of the kinds in a sentence. */
const SHOWN: readonly GrantKind[] = GRANT_KINDS.toSorted((a, b) => rank(a) - rank(b))

function rank(kind: GrantKind): number {
  return kind === 'packages' ? 0 : kind === 'network' ? 1 : 2
}

/** The grants in words, by kind: `packages pandas>=2; network api.example.com`. */
export function grantsText(grants: readonly Grant[]): string {
  const shown = grants.slice(0, GRANTS_NAMED_MAX)
  const parts = SHOWN.flatMap((kind) => {
    const values = shown.filter((grant) => grant.kind === kind).map(({ value }) => value)
    return values.length === 0 ? [] : [`${kind} ${values.join(', ')}`]
  })
  const more = grants.length - shown.length
  return [...parts, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}

/**
 * The command with which the operator of an embedded server accepts the grants of a module. Without a layer, it finds the module
 * that waits, in whichever layer it is.
 */
export function acceptCommand(module: string, layer: Layer): string {
  return `npm run grants -- accept ${module}${layer === 'global' ? ' --layer global' : ''}`
}

type Asking = Omit<AskedConsent, 'of'>

/** How the grants of a module are accepted, and by whom. */
function howToAccept({ module, layer, grantsDigest }: Asking): string {
  const query = layer === 'user' ? '' : `?layer=${layer}`
  const who = layer === 'user' ? 'The user who owns the module accepts them' : 'An admin accepts them'
  const route = `POST /workflows/tools/modules/${module}/grants${query} with {"digest":"${grantsDigest}"}`
  return `${who}: ${acceptCommand(module, layer)} on the machine of an embedded server, or ${route} and a token that may approve.`
}

/** What the answer to an upload says if the tools of the module wait for consent. */
export function waitsMessage(asking: Asking & { readonly grants: readonly Grant[] }): string {
  return `The tools of ${asking.module} wait for consent: it asks for ${grantsText(asking.grants)}. ${howToAccept(asking)}`
}

/** The refusal of a call whose tool waits for consent. */
export class GrantsPending extends ToolrackError {
  readonly consent: AskedConsent
  /** A shorter message. It has no command and no route, because a model must not try to accept anything. */
  readonly textForModel: string

  constructor(consent: AskedConsent, { lacks, how }: { readonly lacks: string; readonly how: string }) {
    super('GRANTS_PENDING', `${lacks}; nothing was run. ${how}`)
    this.consent = consent
    this.textForModel = `${lacks}; nothing was run. ${TELL_THE_USER}`
  }
}

const TELL_THE_USER = 'Only a person can accept this. Tell the user, and do not call the tool again before.'

/** Why a tool that waits for consent cannot be called. Undefined if nothing is left to accept. */
export function whyPending(entry: CatalogEntry): string | undefined {
  return pendingRefusal(entry)?.message
}

/** The refusal of a call of a tool that waits for consent. Undefined if nothing is left to accept. */
export function pendingRefusal(entry: CatalogEntry): GrantsPending | undefined {
  const { name, layer, howRun, grants, pendingGrants: grantsDigest } = entry
  if (grantsDigest === undefined) return undefined
  const module = howRun.by === 'python' ? howRun.module : name
  const wants = grants.length === 0 ? 'grants' : grantsText(grants)
  const asked = { module, layer, grantsDigest }
  const lacks = `${name} waits for consent: its module asks for ${wants}`
  return new GrantsPending({ of: 'module', ...asked }, { lacks, how: howToAccept(asked) })
}
