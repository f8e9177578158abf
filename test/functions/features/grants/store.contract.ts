import { afterEach, expect, test } from '@jest/globals'
import { grantsDigest, type Grant } from '@toolrack/contract'
import type { GrantPolicy } from '../../../../functions/src/catalog/definitions/decide-consent.ts'
import { BY_UPGRADE, FileConsents } from '../../../../functions/src/features/grants/file-consents.ts'
import type { TwoDocuments } from '../../../support/two-stores.ts'

const HOST: readonly Grant[] = [{ kind: 'network', value: 'example.com' }]
const WIDER: readonly Grant[] = [...HOST, { kind: 'secrets', value: 'KEY' }]
const module = (grants: readonly Grant[], folder = '/tools', name = 'weather') => {
  return { folder, module: name, grants }
}

type Options = { readonly policy?: GrantPolicy; readonly isUpgrade?: boolean }

function ignore(): void {
  // No layer is read here.
}

/** What the consents of folders guarantee over every adapter of the documents. */
export function storeContract(open: () => TwoDocuments): void {
  let opened: TwoDocuments | undefined
  afterEach(async () => {
    await opened?.dispose()
    opened = undefined
  })
  function consents(at: 0 | 1, { policy = 'ask', isUpgrade = false }: Options = {}): FileConsents {
    opened ??= open()
    const documents = opened.documents[at]
    return new FileConsents({
      documents,
      now: () => 0,
      policy,
      isShared: true,
      isUpgrade,
      changed: ignore,
      waitMs: 60_000,
    })
  }

  test('a consent is for these grants of this module in this folder, also at another instance', async () => {
    const [one, other] = [consents(0), consents(1)]
    await Promise.all([one.read(), other.read()])
    expect(one.decide(module(HOST))).toEqual({ isPending: true, consent: null })
    await one.accept(module(HOST), 'ann')
    const before = other.state
    await other.read()
    expect(other.state).not.toBe(before)
    const consent = { digest: grantsDigest(HOST), by: 'ann', at: '1970-01-01T00:00:00.000Z' }
    expect(other.decide(module(HOST))).toEqual({ isPending: false, consent })
    for (const another of [module(WIDER), module(HOST, '/other'), module(HOST, '/tools', 'other')])
      expect(other.decide(another).isPending).toBe(true)
    expect(other.decide(module([]))).toEqual({ isPending: false, consent: null })
    const unchanged = other.state
    await other.read()
    expect(other.state).toBe(unchanged)
  })

  test('what is revoked waits, although the operator accepts all in advance', async () => {
    const one = consents(0, { policy: 'accept' })
    await one.read()
    expect(one.decide(module(HOST)).isPending).toBe(false)
    await one.revoke(module(HOST), 'ann')
    const other = consents(1, { policy: 'accept' })
    await other.read()
    expect(other.decide(module(HOST)).isPending).toBe(true)
    expect(other.decide(module(WIDER)).isPending).toBe(false)
  })

  test('after an upgrade, the network of what is there is accepted, and nothing that comes later', async () => {
    const one = consents(0, { isUpgrade: true })
    await one.read()
    expect(one.decide(module(HOST)).consent?.by).toBe(BY_UPGRADE)
    expect(one.decide(module(WIDER, '/tools', 'keys')).isPending).toBe(true)
    await one.settle(false)
    expect(one.decide(module(HOST, '/tools', 'slow')).isPending).toBe(false)
    await one.settle(true)
    const later = module(HOST, '/tools', 'later')
    expect(one.decide(later).isPending).toBe(true)
    const other = consents(1, { isUpgrade: true })
    await other.read()
    expect(other.decide(later).isPending).toBe(true)
    expect(other.decide(module(HOST)).consent?.by).toBe(BY_UPGRADE)
    expect(other.decide(module(HOST, '/tools', 'slow')).isPending).toBe(false)
  })

  test('a new data folder accepts nothing, also at its second start', async () => {
    const one = consents(0)
    await one.read()
    const other = consents(1, { isUpgrade: true })
    await other.read()
    expect(other.decide(module(HOST)).isPending).toBe(true)
  })

  test('before the consents are read, everything waits', () => {
    expect(consents(0, { policy: 'accept' }).decide(module(HOST)).isPending).toBe(true)
  })
}
