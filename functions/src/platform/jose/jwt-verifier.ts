import { isToolrackError } from '@toolrack/contract'
import type { JWTVerifyGetKey } from 'jose'
import { tokenInvalid } from '../../access/authenticate.ts'
import { CLOCK_TOLERANCE_SECONDS, livingClaims } from '../../access/claims.ts'
import type { VerifyToken } from '../../access/claims.ts'
import { keyFinder, keysUnavailable } from './key-source.ts'
import type { KeySource } from './key-source.ts'

/** What a token must be. Nothing of it is taken from the token. */
export type JwtRules = {
  readonly algorithm: 'RS256' | 'ES256'
  /** Undefined among them allows a header without a `typ`. */
  readonly types: readonly (string | undefined)[]
  readonly issuers: readonly string[]
  readonly audiences: readonly string[]
  readonly lifetimeSecondsMax: number
}

/** jose reads base64 with padding too; a token has one spelling here. */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** Verifies tokens of one kind. jose is loaded with the first of them, so that who never needs it never pays for it. */
export function jwtVerifier(rules: JwtRules, source: KeySource, now: () => number): VerifyToken {
  let keys: Promise<JWTVerifyGetKey> | undefined
  return async function verify(token) {
    if (!COMPACT.test(token)) throw tokenInvalid()
    const { errors, jwtVerify } = await import('jose')
    const findKey = await (keys ??= keyFinder(source))
    const options = {
      algorithms: [rules.algorithm],
      issuer: [...rules.issuers],
      audience: [...rules.audiences],
      requiredClaims: ['exp', 'iat', 'sub'],
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      currentDate: new Date(now()),
    }
    const { payload, protectedHeader } = await jwtVerify(token, findKey, options).catch((error: unknown) => {
      if (error instanceof errors.JOSEError) throw tokenInvalid(error)
      throw isToolrackError(error) ? error : keysUnavailable(error)
    })
    if (!rules.types.includes(protectedHeader.typ)) throw tokenInvalid()
    return livingClaims(payload, rules.lifetimeSecondsMax, now())
  }
}
