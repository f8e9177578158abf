import type { CryptoKey } from 'jose'
import type { VerifyToken } from '../../access/claims.ts'
import type { JobKeys } from '../../access/job-keys.ts'
import { JOB_TOKEN, JOB_TOKEN_SECONDS, type SignJobToken } from '../../access/job-token.ts'
import { jwtVerifier } from './jwt-verifier.ts'

const ALGORITHM = 'ES256'

/** Makes a function that signs job tokens with the first of the keys. */
export function jobTokenSigner([key]: JobKeys): SignJobToken {
  let imported: Promise<CryptoKey> | undefined
  return async function sign(claims) {
    const { importJWK, SignJWT } = await import('jose')
    imported ??= importJWK(key, ALGORITHM)
    return new SignJWT({ ...claims })
      .setProtectedHeader({ alg: ALGORITHM, kid: key.kid, typ: JOB_TOKEN.typ })
      .setIssuer(JOB_TOKEN.issuer)
      .setAudience(JOB_TOKEN.audience)
      .sign(await imported)
  }
}

/** Makes a function that verifies job tokens with all of the keys. */
export function jobTokens(keys: JobKeys, now: () => number): VerifyToken {
  const rules = {
    algorithm: ALGORITHM,
    types: [JOB_TOKEN.typ],
    issuers: [JOB_TOKEN.issuer],
    audiences: [JOB_TOKEN.audience],
    lifetimeSecondsMax: JOB_TOKEN_SECONDS.max,
  } as const
  const publicKeys = keys.map(({ kty, crv, kid, x, y }) => ({ kty, crv, kid, x, y }))
  return jwtVerifier(rules, { keys: publicKeys }, now)
}
