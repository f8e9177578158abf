import { sortedGrants, ToolrackError, type Digest, type Grant } from '@toolrack/contract'

/**
 * How the operator answers the grants of modules in advance (`TOOLRACK_GRANTS`): `ask` accepts none, `packages` accepts
 * packages, and `accept` accepts all.
 */
export const GRANT_POLICIES = ['ask', 'packages', 'accept'] as const
export type GrantPolicy = (typeof GRANT_POLICIES)[number]

/** Who has accepted which grants, and when (ISO 8601, UTC). */
export type Consent = {
  readonly digest: Digest
  readonly by: string
  readonly at: string
  /** True if a person has revoked the consent. Then the operator's setting accepts no grants of the module any more. */
  readonly isRevoked?: boolean
}

/** True if the consent is to the grants with this digest, and was not revoked. */
export function isAcceptedBy(consent: Consent | null, digest: Digest): boolean {
  return consent?.digest === digest && consent.isRevoked !== true
}

/** The author of a consent that the operator's setting has given. */
export const BY_POLICY = 'TOOLRACK_GRANTS'

/** What is known of the grants of the present version of a module. */
export type PresentGrants = {
  /** The grants of the present version. */
  readonly grants: readonly Grant[]
  readonly grantsDigest: Digest
  /** The last decision, which may be about grants of an earlier or deleted version. Null if there is none. */
  readonly consent: Consent | null
  /**
   * True if the version is from a service that recorded no grants. Its tools could use their hosts without consent, and nobody
   * shall lose them. Its packages and secrets had no effect.
   */
  readonly isUnrecorded?: boolean
}

/** The grants of an upload, and who uploads. */
export type AskedGrants = {
  readonly grants: readonly Grant[]
  readonly grantsDigest: Digest
  /** The digest that the uploader accepts with the upload. The uploader must be allowed to accept it. */
  readonly accepts?: Digest | undefined
  readonly by: string
  readonly at: Date
}

/**
 * Decides whether the grants of a new version of a module are accepted. If not, the version is stored, but its tools wait. The
 * consent to an earlier version is kept, so that a return to its grants needs no new consent. After a revocation everything
 * waits until a person accepts again. Otherwise a program that may upload could undo the revocation. Throws DIGEST_CHANGED if
 * the uploader accepts another digest than that of the grants.
 */
export function decideConsent(
  { grants, grantsDigest, accepts, by, at }: AskedGrants,
  present: PresentGrants | undefined,
  policy: GrantPolicy,
): { readonly consent: Consent | null; readonly isPending: boolean } {
  if (accepts !== undefined) refuseOtherDigest(accepts, grantsDigest)
  const kept = present?.consent ?? null
  if (grants.length === 0) return { consent: kept, isPending: false }
  if (accepts !== undefined) return accepted(by)
  if (kept?.isRevoked === true) return { consent: kept, isPending: true }
  if (kept?.digest === grantsDigest) return { consent: kept, isPending: false }
  const before = consentedGrants(present)
  if (present?.isUnrecorded && isWithin(grants, before)) return accepted(by)
  if (policy === 'accept') return accepted(BY_POLICY)
  if (policy === 'packages' && isWithin(withoutPackages(grants), before)) return accepted(BY_POLICY)
  return { consent: kept, isPending: true }

  function accepted(who: string) {
    return { consent: { digest: grantsDigest, by: who, at: at.toISOString() }, isPending: false }
  }
}

/** Throws DIGEST_CHANGED if a person accepts another digest than that of the present grants. */
export function refuseOtherDigest(accepted: Digest, present: Digest): void {
  if (accepted === present) return
  const message = `The grants that you accept are not those of the module now: their digest is ${present}. Read them, and accept that digest. Nothing was changed.`
  throw new ToolrackError('DIGEST_CHANGED', message, {
    details: [{ reason: 'DIGEST_CHANGED', digest: present }],
  })
}

/** The grants that the present version may use. */
function consentedGrants(present: PresentGrants | undefined): readonly Grant[] {
  if (!present) return []
  const { grants, grantsDigest, consent, isUnrecorded } = present
  if (isUnrecorded) return grants.filter(({ kind }) => kind === 'network')
  return isAcceptedBy(consent, grantsDigest) ? grants : []
}

function withoutPackages(grants: readonly Grant[]): readonly Grant[] {
  return grants.filter(({ kind }) => kind !== 'packages')
}

function isWithin(grants: readonly Grant[], others: readonly Grant[]): boolean {
  return sortedGrants([...others, ...grants]).length === sortedGrants(others).length
}
