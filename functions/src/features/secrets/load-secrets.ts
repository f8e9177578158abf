import { grantsDigest, ToolrackError, type Digest } from '@toolrack/contract'
import type { Principal } from '../../access/principal.ts'
import type { CallOutcome, CallSecrets, Resolved } from '../../calls/call.ts'
import type { Next, Step } from '../../calls/onion.ts'
import type { CatalogEntry } from '../../catalog/views/catalog-entry.ts'
import { GrantsPending } from '../../catalog/views/why-pending.ts'
import { EVERYBODY } from '../../documents/collection.ts'
import { Turns } from '../../loop-turn.ts'
import { StoredSecrets } from '../../redaction/stored-secrets.ts'
import { CALL_SECRETS_BYTES_MAX, wantedSecret, type WantedSecret } from './secret.ts'
import { MISSING, type ConsentModule, type SealedSecret, type SecretStore } from './secret-store.ts'

/** Finds the secrets that the tool of an entry gets when the principal calls it. Undefined if it asks for none. */
export type SecretsFor = (
  principal: Pick<Principal, 'uid'>,
  entry: CatalogEntry,
) => Promise<CallSecrets> | undefined

type Parts = {
  /** Undefined where the operator has set no key. */
  readonly store: Pick<SecretStore, 'sealed'> | undefined
}

/** Adds the secrets to a call whose tool asks for some. A call of another tool does not wait. */
export function loadSecrets(secretsFor: SecretsFor): Step<Resolved> {
  return (call, next) => {
    const loading = secretsFor(call.principal, call.entry)
    return loading ? runWith(call, loading, next) : next(call)
  }
}

async function runWith(
  call: Resolved,
  loading: Promise<CallSecrets>,
  next: Next<Resolved>,
): Promise<CallOutcome> {
  const secrets = await loading.catch((error: unknown): CallSecrets => ({ ...NONE, refusal: asError(error) }))
  // The records of the call search its arguments for the secrets, and do so without a pause.
  const { length } = JSON.stringify(call.request.arguments)
  await new Turns(call.signal).run(secrets.stored.prepare(length))
  return next({ ...call, secrets })
}

const NONE: CallSecrets = { values: {}, stored: new StoredSecrets([]) }
/** For a call whose secrets are not read. Everything is removed from its records. */
const UNKNOWN: CallSecrets = { values: {}, stored: StoredSecrets.unknown() }

function asError(error: unknown): ToolrackError {
  return error instanceof ToolrackError ? error : new ToolrackError('INTERNAL', undefined, { cause: error })
}

/**
 * The secrets are read for each call, so a deleted or replaced secret is not used again. A tool of the user's layer gets secrets
 * of this user, any other tool gets global ones. `caller:NAME` is the caller's own secret in every layer.
 */
export function secretsFor({ store }: Parts): SecretsFor {
  return (principal, entry) => {
    const { howRun } = entry
    if (howRun.by !== 'python' || howRun.secrets.length === 0) return undefined
    return load(store, principal.uid, entry, howRun)
  }
}

/** A secret that a call needs, with its owner. */
type Needed = WantedSecret & { readonly owner: string }

async function load(
  store: Parts['store'],
  uid: string,
  entry: CatalogEntry,
  { secrets, module }: { readonly secrets: readonly string[]; readonly module: string },
): Promise<CallSecrets> {
  if (!store) return { ...NONE, refusal: missing(NO_KEY) }
  const { layer, grants, name: tool } = entry
  const needed = secrets.map((text): Needed => {
    const wanted = wantedSecret(text)
    return { ...wanted, owner: wanted.isOfCaller || layer === 'user' ? uid : EVERYBODY }
  })
  const isAsking = layer !== 'user' && needed.some(({ isOfCaller }) => isOfCaller)
  const consent = isAsking ? { layer, module, digest: grantsDigest(grants) } : undefined
  const [own, global] = await Promise.all([
    opened(store, uid, needed, consent),
    opened(store, EVERYBODY, needed, undefined),
  ])
  const found = needed.map((one) => ({
    one,
    sealed: (one.owner === EVERYBODY ? global : own).secrets.get(one.name) ?? MISSING,
  }))
  // Opening so much and searching it would delay other requests. What is not opened cannot be removed from the records.
  const bytes = found.reduce((sum, { sealed }) => sum + sealed.bytes, 0)
  if (bytes > CALL_SECRETS_BYTES_MAX) return { ...UNKNOWN, refusal: missing(tooLong(tool, bytes)) }
  const values: Record<string, string> = {}
  let refusal = consent && !own.hasConsent ? noConsent(tool, needed, consent) : undefined
  for (const { one, sealed } of found) {
    const opened = sealed.open()
    if ('value' in opened) values[one.name] = opened.value
    else refusal ??= missing(sentence(tool, one, opened.none))
  }
  // The secrets are removed from the records of a refused call too.
  const stored = new StoredSecrets(Object.values(values))
  return refusal ? { values: {}, stored, refusal } : { values, stored }
}

type Opened = { readonly secrets: ReadonlyMap<string, SealedSecret>; readonly hasConsent: boolean }
const NOTHING: Opened = { secrets: new Map(), hasConsent: false }

/** The needed secrets of one owner, with one read. */
async function opened(
  store: Pick<SecretStore, 'sealed'>,
  owner: string,
  needed: readonly Needed[],
  consent: Parameters<SecretStore['sealed']>[2],
): Promise<Opened> {
  const names = [...new Set(needed.filter((one) => one.owner === owner).map(({ name }) => name))]
  if (names.length === 0) return NOTHING
  const { secrets, hasConsent } = await store.sealed(owner, names, consent)
  return { secrets: new Map(names.map((name, at) => [name, secrets[at] ?? MISSING])), hasConsent }
}

function missing(message: string): ToolrackError {
  return new ToolrackError('SECRET_MISSING', message)
}

const NO_KEY =
  'The tool needs secrets, and this service keeps none, because it has no key for them; nothing was run. The operator sets TOOLRACK_SECRETS_KEY to a key that `openssl rand -base64 32` makes.'

/** The same sentence whether another user has such a secret or nobody has. */
function sentence(tool: string, { name, owner }: Needed, why: 'missing' | 'unreadable'): string {
  const isGlobal = owner === EVERYBODY
  const needs = `${tool} needs the ${isGlobal ? 'global secret' : 'secret'} ${name}`
  const lack = isGlobal ? 'which no admin has stored' : 'which you have not stored'
  const lost = 'which cannot be read any more, because its key is missing here'
  const who = isGlobal ? 'An admin stores it' : 'Store it'
  const more = isGlobal ? ' --layer global' : ''
  const query = isGlobal ? '?layer=global' : ''
  return `${needs}, ${why === 'missing' ? lack : lost}; nothing was run. ${who}: npm run secrets -- set ${name}${more}, or PUT /workflows/secrets/${name}${query} {"value": "…"} with a token that may approve.`
}

function tooLong(tool: string, bytes: number): string {
  return `The secrets of ${tool} have ${bytes} bytes together, and a call gets at most ${CALL_SECRETS_BYTES_MAX}; nothing was run. Store shorter ones.`
}

function noConsent(
  tool: string,
  needed: readonly Needed[],
  { layer, module, digest }: ConsentModule & { readonly digest: Digest },
): ToolrackError {
  const names = needed.filter(({ isOfCaller }) => isOfCaller).map(({ name }) => name)
  const which = `your own secret${names.length > 1 ? 's' : ''} ${names.join(', ')}`
  return new GrantsPending(
    { of: 'caller', module, layer, grantsDigest: digest },
    {
      lacks: `${tool} of the ${layer} module ${module} asks for ${which}, and you have not consented`,
      how: `To consent: npm run secrets -- consent ${layer} ${module} ${digest}, or PUT /workflows/secrets/consents/${layer}/${module} {"digest": "${digest}"} with a token that may approve.`,
    },
  )
}
