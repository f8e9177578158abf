import { afterAll, expect, test } from '@jest/globals'
import type { CollectionReference, DocumentReference, Firestore } from '@google-cloud/firestore'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newSealingKey } from '../../../functions/src/calls/sealing.ts'
import { canariesIn, CANARY_RULES, canaryWebhook, FINDABLE, sendCanaries } from '../../support/canaries.ts'
import { describeOnEmulator, newProject, openFirestore } from '../../support/firestore-emulator.ts'
import { serverWithRunner } from '../../support/modules.ts'
import { withPython } from '../../support/runner-environment.ts'
import { failedStart } from '../../support/server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { unsignedTokens } from '../../support/two-users/unsigned-tokens.ts'

const webhook = await canaryWebhook()
afterAll(() => webhook.close())

/** All documents of a project, also those in collections of documents that do not exist. */
async function dumpOf(firestore: Firestore): Promise<string> {
  const ofDocument = async (document: DocumentReference): Promise<string> => {
    const data = (await document.get()).data()
    const fields = Object.entries(data ?? {}).map(
      ([name, value]) =>
        `${name}: ${Buffer.isBuffer(value) ? value.toString('latin1') : JSON.stringify(value)}`,
    )
    const below = await Promise.all((await document.listCollections()).map(ofCollection))
    return `\n== ${document.path}\n${fields.join('\n')}${below.join('')}`
  }
  const ofCollection = async (collection: CollectionReference): Promise<string> =>
    (await Promise.all((await collection.listDocuments()).map(ofDocument))).join('')
  return (await Promise.all((await firestore.listCollections()).map(ofCollection))).join('')
}

describeOnEmulator('secrets and Firestore', () => {
  for (const key of [newSealingKey(), undefined])
    withPython(
      `of secrets that are sent in every way, none is in any document, record, log or message, ${key === undefined ? 'without' : 'with'} a key`,
      async () => {
        using folder = temporaryFolder()
        const rules = join(folder.path, 'rules.json')
        writeFileSync(rules, JSON.stringify(CANARY_RULES))
        const project = newProject()
        await using tokens = await unsignedTokens(project)
        const env = {
          ...tokens.env,
          ...webhook.env,
          TOOLRACK_STORE: 'firestore',
          TOOLRACK_RULES_FILE: rules,
          ...(key !== undefined && { TOOLRACK_SEALING_KEY: key.trim() }),
        }
        const user = { Authorization: `Bearer ${tokens.tokenOf('ann')}` }
        await using server = await serverWithRunner({ env }, user)
        const fetch = (path: string, init: RequestInit = {}): Promise<Response> =>
          server.fetch(path, { ...init, headers: { ...user, ...(init.headers as object) } })
        const said = await sendCanaries({ fetch, isSealed: key !== undefined })
        const { stdout, stderr } = await server.stop()
        const firestore = openFirestore(project)
        const documents = await dumpOf(firestore)
        await firestore.terminate()
        for (const part of [
          FINDABLE,
          '/approvalArguments/kept/',
          '/keys/kept/',
          '== toolrack/audit/records/',
        ])
          expect(documents).toContain(part)
        expect(documents.includes('body: "s1.')).toBe(key !== undefined)
        const found = { said, documents, terminal: stdout + stderr, webhook: webhook.told.join('\n') }
        for (const [place, text] of Object.entries(found))
          expect([place, canariesIn(text)]).toEqual([place, []])
      },
    )
})

test('a server does not start with a key that is none, and does not repeat it', async () => {
  using folder = temporaryFolder()
  const env = { TOOLRACK_SEALING_KEY: 'not32bytes' }
  const { code, stderr } = await failedStart({ data: folder.path, env })
  expect([code === 0, stderr]).toEqual([
    false,
    expect.stringContaining('TOOLRACK_SEALING_KEY must be a random key of 32 bytes'),
  ])
  expect(stderr).not.toContain('not32bytes')
})
