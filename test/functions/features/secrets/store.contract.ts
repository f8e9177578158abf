import { afterEach, expect, test } from '@jest/globals'
import type { StoredModule } from '../../../../functions/src/catalog/definitions/module-store.ts'
import { EVERYBODY } from '../../../../functions/src/documents/collection.ts'
import { rotateSecrets } from '../../../../functions/src/features/secrets/rotate-secrets.ts'
import { newSecretKey, SecretKeys } from '../../../../functions/src/features/secrets/secret-keys.ts'
import type { SecretKey } from '../../../../functions/src/features/secrets/secret-keys.ts'
import { SecretStore } from '../../../../functions/src/features/secrets/secret-store.ts'
import { SECRETS_MAX } from '../../../../functions/src/features/secrets/secret.ts'
import { START_MS, type TwoDocuments } from '../../../support/two-stores.ts'

const VALUE = 'value of ann'
const DIGEST = `sha256:${'d'.repeat(64)}` as const
const OTHER_DIGEST = `sha256:${'e'.repeat(64)}` as const

async function valueOf(store: SecretStore, owner: string, name: string) {
  return (await store.sealed(owner, [name])).secrets[0]?.open()
}

function storedModule(created: string): StoredModule {
  const written = { revision: '1', updatedAt: '', updatedBy: 'root' }
  const asked = { grants: [], grantsDigest: DIGEST, consent: null, created }
  return { name: 'shop', sha256: '', tools: [], report: {}, ...written, ...asked }
}

/** What the stored secrets guarantee over every adapter of the documents. */
export function storeContract(open: () => TwoDocuments): void {
  let opened: TwoDocuments | undefined
  afterEach(async () => {
    await opened?.dispose()
    opened = undefined
  })
  /** Two instances with these keys, and what is kept of the keys. */
  function stores(keys: readonly SecretKey[] = [newSecretKey()]) {
    opened = open()
    const kept = { keys }
    const [one, other] = opened.documents.map((documents) => {
      const ring = new SecretKeys(keys, (present) => (kept.keys = present))
      return { documents, ring, store: new SecretStore({ documents, keys: ring, now: () => START_MS }) }
    })
    if (!one || !other) throw new Error('there are two instances')
    /** An instance that is started again with the kept keys, or with other ones. */
    const restarted = (present = kept.keys) => {
      const ring = new SecretKeys(present, (next) => (kept.keys = next))
      return { ring, store: new SecretStore({ documents: one.documents, keys: ring, now: () => START_MS }) }
    }
    return { one, other, kept, restarted }
  }

  test('each user and everybody have secrets of their own, which are replaced, listed and deleted', async () => {
    const { one, other } = stores()
    await one.store.put('ann', 'KEY', 'first value')
    await one.store.put('ann', 'KEY', VALUE)
    await one.store.put('ann', '__A__', 'another value')
    await one.store.put(EVERYBODY, 'KEY', 'value of all')
    expect(await valueOf(other.store, 'ann', 'KEY')).toEqual({ value: VALUE })
    expect(await valueOf(other.store, EVERYBODY, 'KEY')).toEqual({ value: 'value of all' })
    expect(await valueOf(other.store, 'bob', 'KEY')).toEqual({ none: 'missing' })
    const updatedAt = new Date(START_MS).toISOString()
    expect(await other.store.page('ann', 10)).toEqual([
      { name: 'KEY', updatedAt },
      { name: '__A__', updatedAt },
    ])
    expect(await other.store.page('ann', 10, 'KEY')).toEqual([{ name: '__A__', updatedAt }])
    expect([await other.store.delete('bob', 'KEY'), await other.store.delete('ann', 'KEY')]).toEqual([
      false,
      true,
    ])
    expect(await valueOf(one.store, 'ann', 'KEY')).toEqual({ none: 'missing' })
  })

  test('no document has a value, and a sealed value belongs to its owner and its name', async () => {
    const { one } = stores()
    await one.store.put('ann', 'KEY', VALUE)
    const { SECRETS } = await import('../../../../functions/src/features/secrets/secret-store.ts')
    const read = async (key: string) => (await one.documents.read('ann', [{ of: SECRETS, key }]))[0]
    const found = await read('s-KEY')
    expect(found?.body).toMatch(/^s1\.[\w-]+$/)
    expect(JSON.stringify([found?.text, found?.body])).not.toContain(VALUE)
    for (const [owner, name] of [
      ['bob', 'KEY'],
      ['ann', 'OTHER'],
    ] as const) {
      const to = { of: SECRETS, key: `s-${name}` }
      const fields = { ...found?.fields, name }
      await one.documents.change(owner, [to], () => ({
        result: 0,
        writes: [{ to, fields, body: found?.body }],
      }))
      expect(await valueOf(one.store, owner, name)).toEqual({ none: 'unreadable' })
    }
  })

  test(`an owner has at most ${SECRETS_MAX} secrets, and the same ones can be replaced`, async () => {
    const { one } = stores()
    const names = Array.from({ length: SECRETS_MAX }, (_, at) => `K${at}`)
    for (const name of names) await one.store.put('ann', name, VALUE)
    await expect(one.store.put('ann', 'MORE', VALUE)).rejects.toMatchObject({ code: 'ITEMS_FULL' })
    await one.store.put('ann', 'K0', 'another value')
    await one.store.put('bob', 'MORE', VALUE)
    expect(await one.store.page('ann', SECRETS_MAX + 1)).toHaveLength(SECRETS_MAX)
  })

  test('a consent is of a user, a module and the digest of grants', async () => {
    const { one, other } = stores()
    const module = { layer: 'global', module: 'shop' } as const
    const has = async (
      uid: string,
      to: { readonly layer: 'global' | 'file'; readonly module: string },
      digest: `sha256:${string}` = DIGEST,
    ) => (await other.store.sealed(uid, ['KEY'], { ...to, digest })).hasConsent
    await one.store.consent('ann', module, DIGEST)
    await one.store.consent('ann', module, DIGEST)
    expect(await has('ann', module)).toBe(true)
    expect(await has('ann', module, OTHER_DIGEST)).toBe(false)
    expect(await has('bob', module)).toBe(false)
    expect(await has('ann', { ...module, layer: 'file' })).toBe(false)
    expect(await has('ann', { ...module, module: 'shop2' })).toBe(false)
    expect([await other.store.revoke('ann', module), await other.store.revoke('ann', module)]).toEqual([
      true,
      false,
    ])
    expect(await has('ann', module)).toBe(false)
  })

  test('a consent to a global module is of this module until it is deleted, and one to a watched folder of the name', async () => {
    const { one } = stores()
    let created: string | undefined
    const store = new SecretStore({
      documents: one.documents,
      keys: one.ring,
      now: () => START_MS,
      modules: { module: () => Promise.resolve(created === undefined ? undefined : storedModule(created)) },
    })
    const answers = async () => {
      const layers = (['global', 'file'] as const).map(async (layer) => {
        const consent = { layer, module: 'shop', digest: DIGEST }
        return (await store.sealed('ann', ['KEY'], consent)).hasConsent
      })
      return Promise.all(layers)
    }
    for (const layer of ['global', 'file'] as const)
      await store.consent('ann', { layer, module: 'shop' }, DIGEST)
    expect(await answers()).toEqual([true, true])
    created = 'first'
    expect(await answers()).toEqual([false, true])
    await store.consent('ann', { layer: 'global', module: 'shop' }, DIGEST)
    expect(await answers()).toEqual([true, true])
    created = 'second'
    expect(await answers()).toEqual([false, true])
  })

  test('a missing or changed key that has sealed a secret is noticed', async () => {
    const { one, kept, restarted } = stores()
    expect(await one.store.missingKeys()).toEqual([])
    expect(await restarted([newSecretKey()]).store.missingKeys()).toEqual([])
    await one.store.put('ann', 'KEY', VALUE)
    const present = restarted()
    expect(await present.store.missingKeys()).toEqual([])
    const wrong = restarted([newSecretKey()])
    expect(await wrong.store.missingKeys()).toEqual(kept.keys.map(({ id }) => id))
    expect(await valueOf(wrong.store, 'ann', 'KEY')).toEqual({ none: 'unreadable' })
    const damaged = kept.keys.map((key) => ({ ...key, sealing: newSecretKey().sealing }))
    expect(await restarted(damaged).store.missingKeys()).toHaveLength(1)
  })

  test('a rotation that is killed before any of its steps loses nothing, and the next one ends it', async () => {
    for (let killedAt = 0; ; killedAt += 1) {
      const { one, kept, restarted } = stores()
      const old = kept.keys
      for (const owner of ['ann', 'bob', EVERYBODY])
        for (const name of ['KEY', 'OTHER']) await one.store.put(owner, name, `${owner} ${name} value`)
      let step = 0
      const killed = await rotateSecrets({
        keys: one.ring,
        store: one.store,
        before() {
          step += 1
          if (step > killedAt) throw new Error('killed')
        },
      }).catch(() => undefined)
      const next = restarted()
      expect(await next.store.missingKeys()).toEqual([])
      const expectAll = async (store: SecretStore): Promise<void> => {
        for (const owner of ['ann', 'bob', EVERYBODY])
          for (const name of ['KEY', 'OTHER'])
            expect(await valueOf(store, owner, name)).toEqual({ value: `${owner} ${name} value` })
      }
      await expectAll(next.store)
      const ended = await rotateSecrets({ keys: next.ring, store: next.store })
      expect(ended).toMatchObject({ unreadable: 0, isDone: true })
      expect(kept.keys).toHaveLength(1)
      expect(old.map(({ id }) => id)).not.toContain(kept.keys[0]?.id)
      await expectAll(restarted().store)
      expect(await restarted().store.missingKeys()).toEqual([])
      await opened?.dispose()
      opened = undefined
      if (killed) {
        // A key, its note, six secrets, two steps with the old key, and the end.
        expect(killedAt).toBe(11)
        return
      }
    }
  })

  test('a secret that is written during a rotation is sealed with the new key', async () => {
    const { one, kept, restarted } = stores()
    await one.store.put('ann', 'KEY', VALUE)
    const writes: Promise<void>[] = []
    await rotateSecrets({
      keys: one.ring,
      store: one.store,
      before: (step) => {
        if (writes.length < 5) writes.push(one.store.put('bob', `K${writes.length}`, `written ${step}`))
      },
    })
    await Promise.all(writes)
    expect(kept.keys).toHaveLength(1)
    const { secrets } = await restarted().store.sealed('bob', ['K0', 'K1', 'K2', 'K3', 'K4'])
    expect(secrets.filter((one) => 'none' in one.open())).toEqual([])
  })

  test('the bytes of a value are known before it is opened', async () => {
    const { one } = stores()
    for (const value of ['12345678', 'nine bytes', 'ö'.repeat(5), 'x'.repeat(65_536)]) {
      await one.store.put('ann', 'KEY', value)
      const [sealed] = (await one.store.sealed('ann', ['KEY'])).secrets
      expect(sealed?.bytes).toBe(Buffer.byteLength(value))
    }
    expect((await one.store.sealed('ann', ['NONE'])).secrets).toMatchObject([{ bytes: 0 }])
  })

  test('a rotation keeps every key while a secret cannot be read', async () => {
    const { one, kept, restarted } = stores()
    await one.store.put('ann', 'KEY', VALUE)
    const stranger = restarted([newSecretKey()])
    await stranger.store.put('ann', 'LOST', VALUE)
    await stranger.store.forgetOtherKeys(stranger.ring.first)
    kept.keys = one.ring.all
    const rotation = await rotateSecrets({ keys: one.ring, store: one.store })
    expect(rotation).toMatchObject({ resealed: 1, unreadable: 1, isDone: false })
    expect(kept.keys).toHaveLength(2)
  })

  test('keys of the operator are never replaced: their first one seals', async () => {
    const [old, next] = [newSecretKey(), newSecretKey()]
    const { one, restarted } = stores([old])
    await one.store.put('ann', 'KEY', VALUE)
    const keys = new SecretKeys([next, old])
    const store = new SecretStore({ documents: one.documents, keys, now: () => START_MS })
    expect(await rotateSecrets({ keys, store })).toEqual({
      key: next.id,
      resealed: 1,
      unreadable: 0,
      isDone: false,
    })
    expect(keys.all).toEqual([next, old])
    expect(await valueOf(restarted([next]).store, 'ann', 'KEY')).toEqual({ value: VALUE })
  })
}
