import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { grantsDigest, type Grant } from '@toolrack/contract'
import {
  decideConsent,
  type GrantPolicy,
  type PresentGrants,
} from '../../functions/src/catalog/definitions/decide-consent.ts'
import type { DefinitionStore } from '../../functions/src/catalog/definitions/definition-store.ts'
import type { ModulePut } from '../../functions/src/catalog/definitions/module-store.ts'
import type { StoredLayer } from '../../functions/src/catalog/views/layer-source.ts'
import { by, put, remove, tool } from './definition-changes.ts'
import type { StoreHarness } from './definition-store.contract.ts'
import { putModule, removeModule } from './module-changes.ts'

const ANN: StoredLayer = { kind: 'user', uid: 'ann' }
const AT = '2026-01-02T03:04:05.678Z'
const GRANTS: readonly Grant[] = [{ kind: 'network', value: 'example.com' }]
const DIGEST = grantsDigest(GRANTS)

/** An upload that asks for these grants, as the service decides about them. */
function asking(
  grants: readonly Grant[],
  content = 'text',
  tools: readonly string[] = ['a', 'b'],
  policy: GrantPolicy = 'ask',
): ModulePut {
  const asked = { grants, grantsDigest: grantsDigest(grants) }
  const decide = (present: PresentGrants | undefined) =>
    decideConsent({ ...asked, by: 'ann', at: new Date(AT) }, present, policy)
  return putModule('m', tools, content, { ...asked, decide })
}

/** The tests of consents that every DefinitionStore must pass. The test of each implementation calls this function. */
export function describeConsents(title: string, start: () => Promise<StoreHarness>): void {
  describe(title, () => {
    let harness: StoreHarness
    let store: DefinitionStore
    let other: DefinitionStore

    beforeEach(async () => {
      harness = await start()
      store = await harness.open()
      other = await harness.open()
    })
    afterEach(async () => {
      await store.close()
      await other.close()
      await harness.dispose()
    })

    /** The digests that the stored definitions wait for. */
    const waiting = async (): Promise<unknown[]> =>
      (await other.layer(ANN).read()).definitions.map(
        ({ text }) => (JSON.parse(text) as { pendingGrants?: string }).pendingGrants,
      )
    const accept = (digest = DIGEST) => store.writeConsent(ANN, { name: 'm', accepts: digest }, by('ann'))
    const revoke = () => store.writeConsent(ANN, { name: 'm', accepts: undefined }, by('ann'))

    test('a consent takes the mark from all tools in one revision, and its revocation puts it back', async () => {
      const change = asking(GRANTS)
      const written = await store.writeModule(ANN, change, by('ann'))
      expect([written.outcome, written.pending]).toEqual(['created', true])
      expect(await waiting()).toEqual([DIGEST, DIGEST])
      const { revision: before } = await other.layer(ANN).read()
      const consent = { digest: DIGEST, by: 'ann', at: AT }
      const grants = { grants: GRANTS, grantsDigest: DIGEST, consent, created: expect.any(String) }
      expect(await accept()).toEqual({ ...grants, outcome: 'updated', isPending: false })
      expect(await waiting()).toEqual([undefined, undefined])
      const { definitions, revision } = await other.layer(ANN).read(before)
      expect(definitions.map((stored) => stored.revision)).toEqual([revision, revision])
      expect(definitions.map(({ text, digest }) => [text, digest])).toEqual(
        change.tools.map(({ text, digest }) => [text, digest]),
      )
      expect(await other.module(ANN, 'm')).toMatchObject({ ...grants, revision: written.revision })
      const revoked = { ...grants, consent: { ...consent, isRevoked: true } }
      expect(await revoke()).toEqual({ ...revoked, outcome: 'updated', isPending: true })
      expect(await waiting()).toEqual([DIGEST, DIGEST])
      expect(await other.module(ANN, 'm')).toMatchObject(revoked)
      expect((await revoke()).outcome).toBe('unchanged')
    })

    test('a consent makes no version of the module, and its source stays', async () => {
      const { sha256, source } = asking(GRANTS)
      await store.writeModule(ANN, asking(GRANTS), by('ann'))
      await accept()
      await revoke()
      await accept()
      expect(await other.moduleVersions(ANN, 'm')).toHaveLength(1)
      expect(await other.source(ANN, sha256)).toEqual({ source })
      await store.writeModule(ANN, asking(GRANTS, 'other'), by('ann'))
      expect(await other.source(ANN, sha256)).toEqual({ source })
      await store.writeModule(ANN, removeModule('m'), by('ann'))
      expect(await other.module(ANN, 'm')).toBeUndefined()
      expect(await waiting()).toEqual([])
    })

    test('what is decided already changes nothing', async () => {
      await store.writeModule(ANN, asking(GRANTS), by('ann'))
      await accept()
      const { revision } = await other.layer(ANN).read()
      expect(await accept()).toMatchObject({ outcome: 'unchanged', consent: { by: 'ann', at: AT } })
      expect((await other.layer(ANN).read()).revision).toBe(revision)
      await revoke()
      expect((await revoke()).outcome).toBe('unchanged')
    })

    describe('after a person has revoked', () => {
      const WIDER: readonly Grant[] = [...GRANTS, { kind: 'secrets', value: 'KEY' }]
      const context = by('ann', 1_000, { deletedMax: 1, bytesMax: 12_000 })
      const isPending = async (grants: readonly Grant[]): Promise<boolean> => {
        const change = asking(grants, `${grants.length}`, ['a'], 'accept')
        return (await store.writeModule(ANN, change, context)).pending === true
      }
      const deleteModule = () => store.writeModule(ANN, removeModule('m'), context)
      beforeEach(async () => {
        expect(await isPending(GRANTS)).toBe(false)
        await revoke()
      })

      test('the setting of the operator accepts no grants of the module, until a person accepts some', async () => {
        expect([await isPending(WIDER), await isPending([]), await isPending(GRANTS)]).toEqual([
          true,
          false,
          true,
        ])
        await accept()
        expect([await isPending(GRANTS), await isPending(WIDER)]).toEqual([false, false])
      })

      test('this stays so when the module is deleted, and when what is deleted is removed to make room', async () => {
        for (let round = 0; round < 2; round += 1) {
          await deleteModule()
          expect([await other.module(ANN, 'm'), await other.modules(ANN, { limit: 9 })]).toEqual([
            undefined,
            [],
          ])
          await expect(deleteModule()).rejects.toMatchObject({ code: 'MODULE_NOT_FOUND' })
          await expect(accept()).rejects.toMatchObject({ code: 'MODULE_NOT_FOUND' })
          for (const name of ['x', 'y', 'z']) {
            await store.write(ANN, [put(tool(name, 'x'.repeat(4_000)))], context)
            await store.write(ANN, [remove(name)], context)
          }
          expect(await other.moduleVersions(ANN, 'm')).toHaveLength(1)
          expect([await isPending(GRANTS), await waiting()]).toEqual([true, [DIGEST]])
          expect(await isPending(WIDER)).toBe(true)
        }
        await accept(grantsDigest(WIDER))
        await deleteModule()
        expect(await isPending(GRANTS)).toBe(false)
      })

      test('a person can accept with the upload after the deletion', async () => {
        await deleteModule()
        const decide = (present: PresentGrants | undefined) =>
          decideConsent({ ...asked, accepts: DIGEST, by: 'ann', at: new Date(AT) }, present, 'accept')
        const asked = { grants: GRANTS, grantsDigest: DIGEST }
        const written = await store.writeModule(
          ANN,
          putModule('m', ['a'], 'text', { ...asked, decide }),
          context,
        )
        expect([written.outcome, written.pending]).toEqual(['created', undefined])
        await deleteModule()
        expect(await isPending(GRANTS)).toBe(false)
      })
    })

    test('another digest, a module that is gone and one that never was are refused', async () => {
      await store.writeModule(ANN, asking(GRANTS), by('ann'))
      await expect(accept(grantsDigest([]))).rejects.toMatchObject({
        code: 'DIGEST_CHANGED',
        details: [{ digest: DIGEST }],
      })
      expect(await waiting()).toEqual([DIGEST, DIGEST])
      await store.writeModule(ANN, removeModule('m'), by('ann'))
      await expect(accept()).rejects.toMatchObject({ code: 'MODULE_NOT_FOUND' })
      const never = store.writeConsent(ANN, { name: 'never', accepts: DIGEST }, by('ann'))
      await expect(never).rejects.toMatchObject({ code: 'MODULE_NOT_FOUND' })
    })

    test('a new version with the same grants needs no consent, and one with others does', async () => {
      await store.writeModule(ANN, asking(GRANTS), by('ann'))
      await accept()
      const same = await store.writeModule(ANN, asking(GRANTS, 'two', ['a', 'c']), by('ann'))
      expect(same.pending).toBeUndefined()
      expect(await waiting()).toEqual([undefined, undefined])
      const wider: readonly Grant[] = [...GRANTS, { kind: 'secrets', value: 'KEY' }]
      expect((await store.writeModule(ANN, asking(wider, 'three'), by('ann'))).pending).toBe(true)
      await expect(accept()).rejects.toMatchObject({ code: 'DIGEST_CHANGED' })
      expect((await accept(grantsDigest(wider))).isPending).toBe(false)
    })

    test('the id of the creation is the same as long as the module exists, and another one after a deletion', async () => {
      const created = async (): Promise<string | undefined> => (await other.module(ANN, 'm'))?.created
      await store.writeModule(ANN, asking(GRANTS), by('ann'))
      const first = await created()
      await store.writeModule(ANN, putModule('m', ['a'], 'two'), by('ann'))
      await store.writeModule(ANN, asking(GRANTS, 'three'), by('ann'))
      await accept()
      await revoke()
      expect([first, await created()]).toEqual([expect.any(String), first])
      await store.writeModule(ANN, removeModule('m'), by('ann'))
      await store.writeModule(ANN, asking(GRANTS), by('ann'))
      expect([first, undefined]).not.toContain(await created())
    })

    test('the definitions of others stay as they are', async () => {
      await store.writeModule(ANN, asking(GRANTS), by('ann'))
      await store.write(ANN, [put(tool('own'))], by('ann'))
      await accept()
      const { definitions } = await other.layer(ANN).read()
      expect(definitions.find(({ name }) => name === 'own')?.text).toBe(put(tool('own')).text)
    })
  })
}
