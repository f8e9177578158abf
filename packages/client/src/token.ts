import { ToolsError } from './errors.ts'

/**
 * The token for the service: a text, or a function that is called for each request. If the service answers 401, the function is
 * called once more with `refused: true`. Then it must not return a token that it has cached.
 */
export type Token = string | ((asked: { readonly refused: boolean }) => string | Promise<string>)

/**
 * The present token. Throws TOKEN_FAILED if there is none. An undefined token usually comes from an environment variable that is
 * not set.
 */
export async function currentToken(token: Token | undefined, refused = false): Promise<string> {
  if (token === undefined) throw new ToolsError('TOKEN_FAILED', 'There is no token; is its variable set?')
  let current: unknown = token
  try {
    if (typeof token === 'function') current = await token({ refused })
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new ToolsError('TOKEN_FAILED', `The token function failed: ${why}`, { cause })
  }
  const text = typeof current === 'string' ? current.trim() : ''
  if (/^[\x21-\x7E]+$/.test(text)) return text
  throw new ToolsError('TOKEN_FAILED', 'The token must be a text of printable characters without blanks.')
}

const TIMES = { iat: 0, exp: 0, nbf: 0, jti: 0, auth_time: 0 }

/**
 * A text that is different for each holder of tokens. For a JWT it has all claims except the times, so it stays the same when the
 * token is refreshed. For any other token it is the token itself.
 */
export function tokenSubject(token: string): string {
  const [, payload = ''] = token.split('.')
  try {
    const claims = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as object
    // The first `...TIMES` puts these keys at the beginning. The second one sets them to 0. So tokens that lack some of these
    // claims give the same text.
    return JSON.stringify({ ...TIMES, ...claims, ...TIMES })
  } catch {
    return token
  }
}
