import { afterEach, expect, test } from '@jest/globals'
import { grantsDigest, ToolrackError, type Grant } from '@toolrack/contract'
import type { GrantPolicy } from '../../../../functions/src/catalog/definitions/decide-consent.ts'
import type { Documents } from '../../../../functions/src/documents/documents.ts'
import { BY_UPGRADE, FileConsents } from '../../../../functions/src/features/grants/file-consents.ts'
import type { TwoDocuments } from '../../../support/two-stores.ts'

const HOST: readonly Grant[] = [{ kind: 'network', value: 'example.com' }]
const WIDER: readonly Grant[] = [...HOST, { kind: 'secrets', value: 'KEY' }]
const module = (grants: readonly Grant[], folder = '/tools', name = 'weather') => {
  return { folder, module: name, grants }
}

type Options = {
  readonly policy?: GrantPolicy
  readonly isUpgrade?: boolean
  readonly isShared?: boolean
  readonly through?: (documents: Documents) => Documents
}

function ignore(): void {
  // No layer is read here.
}

/** The same documents, with another way to list them. */
function withList(documents: Documents, list: Documents['list']): Documents {
  return {
    list,
    read: (...asked) => documents.read(...asked),
    change: (...asked) => documents.change(...asked),
    claim: (...asked) => documents.claim(...asked),
    history: (...asked) => documents.history(...asked),
  }
}

/** What the consents of folders guarantee over every adapter of the documents. */
export function storeContract(open: () => TwoDocuments): void {
  let opened: TwoDocuments | undefined
  afterEach(async () => {
    await opened?.dispose()
    opened = undefined
  })
  function consents(at: 0 | 1, options: Options = {}): FileConsents {
    const { policy = 'ask', isUpgrade = false, isShared = true, through = (same) => same } = options
    opened ??= open()
    const documents = through(opened.documents[at])
    return new FileConsents({
      documents,
      now: () => 0,
      policy,
      isShared,
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
    expect(other.decide(module(WIDER)).isPending).toBe(true)
    expect(other.decide(module(HOST, '/tools', 'other')).isPending).toBe(false)
    await other.accept(module(WIDER), 'ann')
    expect(other.decide(module(HOST)).isPending).toBe(false)
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

  test('a consent that is given before the others could be read hides none of them', async () => {
    await consents(0).accept(module(HOST), 'ann')
    let isAway = true
    const through = (documents: Documents): Documents =>
      withList(documents, (...asked) =>
        isAway ? Promise.reject(new ToolrackError('STORE_BUSY')) : documents.list(...asked),
      )
    const one = consents(1, { isShared: false, through })
    await one.read()
    await one.accept(module(HOST, '/other'), 'bob')
    isAway = false
    await one.read()
    expect(one.decide(module(HOST)).isPending).toBe(false)
    expect(one.decide(module(HOST, '/other')).isPending).toBe(false)
  })

  test('a consent that is given during the first read is not lost', async () => {
    const late: { give?: () => Promise<void> } = {}
    const through = (documents: Documents): Documents =>
      withList(documents, async (...asked) => {
        const found = await documents.list(...asked)
        const { give } = late
        delete late.give
        await give?.()
        return found
      })
    const one = consents(0, { isShared: false, through })
    late.give = () => one.accept(module(HOST), 'ann')
    await one.read()
    expect(one.decide(module(HOST)).isPending).toBe(false)
  })

  test('before the consents are read, everything waits', () => {
    expect(consents(0, { policy: 'accept' }).decide(module(HOST)).isPending).toBe(true)
  })
}
