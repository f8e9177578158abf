import { ScriptedServer } from '../scripted-server.ts'

/** The environment of a server that accepts unsigned tokens, and a token for each user. */
export type UnsignedTokens = AsyncDisposable & {
  readonly env: Readonly<Record<string, string>>
  readonly tokenOf: (uid: string) => string
}

/**
 * Replaces the Auth emulator, which the server asks for the user of each token. Here every user exists. The emulator needs
 * seconds to start, and the tests that use this do not depend on which users exist.
 */
export async function unsignedTokens(project = 'demo-two-users'): Promise<UnsignedTokens> {
  const emulator = await ScriptedServer.start()
  emulator.answers = [
    (req, res) => {
      const parts: Buffer[] = []
      req.on('data', (part: Buffer) => parts.push(part))
      req.on('end', () => {
        const { localId } = JSON.parse(Buffer.concat(parts).toString()) as { localId: readonly string[] }
        res.setHeader('Content-Type', 'application/json')
        res.end(JSON.stringify({ users: localId.map((uid) => ({ localId: uid, validSince: '0' })) }))
      })
    },
  ]
  return {
    env: {
      TOOLRACK_AUTH: 'firebase',
      GOOGLE_CLOUD_PROJECT: project,
      FIREBASE_AUTH_EMULATOR_HOST: new URL(emulator.origin).host,
    },
    tokenOf: (uid) => tokenOf(uid, project),
    [Symbol.asyncDispose]: () => emulator[Symbol.asyncDispose](),
  }
}

/** A token like the Auth emulator's: valid for an hour, and without a signature. */
function tokenOf(uid: string, project: string): string {
  const iat = Math.floor(Date.now() / 1_000)
  const claims = {
    iss: `https://securetoken.google.com/${project}`,
    aud: project,
    sub: uid,
    user_id: uid,
    auth_time: iat,
    iat,
    exp: iat + 3_600,
    firebase: { sign_in_provider: 'custom' },
  }
  return `${part({ alg: 'none', typ: 'JWT' })}.${part(claims)}.`
}

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
