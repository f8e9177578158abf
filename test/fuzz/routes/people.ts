import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { unsigned } from '../../support/signed-tokens.ts'

export const PROJECT = 'demo-toolrack'

/** Who sends fuzzed requests. The job is a token that names two tools of Ann's. */
export const SENDERS = ['ann', 'root', 'job', 'nobody'] as const
export type Sender = (typeof SENDERS)[number]

/** Below which of the two families a sender's token is good. */
export function familyOf(sender: Sender): 'workflows' | 'jobs' {
  return sender === 'job' ? 'jobs' : 'workflows'
}

/** All who have an account. Bob has what nobody else may see; Hana lists her tools meanwhile. */
const ACCOUNTS = new Set(['ann', 'root', 'bob', 'hana'])

/**
 * Answers for the Auth emulator, which is asked whether the user of an unsigned token exists. Everything else of a token is
 * checked by the service.
 */
export async function accountsServer(): Promise<{ readonly host: string; readonly close: () => void }> {
  const server = createServer((req, res) => {
    let text = ''
    req.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    req.on('end', () => {
      const { localId = [] } = JSON.parse(text) as { localId?: readonly string[] }
      const users = localId
        .filter((uid) => ACCOUNTS.has(uid))
        .map((uid) => ({ localId: uid, validSince: '0' }))
      res.setHeader('Content-Type', 'application/json').end(JSON.stringify({ users }))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.unref()
  const { port } = server.address() as AddressInfo
  return { host: `127.0.0.1:${port}`, close: () => void server.close() }
}

/** A token of that user for an hour; of `root`, an admin's. */
export function userToken(uid: string): string {
  const now = Math.floor(Date.now() / 1_000)
  const claims = {
    iss: `https://securetoken.google.com/${PROJECT}`,
    aud: PROJECT,
    sub: uid,
    user_id: uid,
    auth_time: now - 60,
    iat: now - 60,
    exp: now + 3_500,
    ...(uid === 'root' && { toolrackAdmin: true }),
  }
  return unsigned({ alg: 'none', typ: 'JWT' }, claims)
}
