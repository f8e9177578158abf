import { afterEach, expect, test } from '@jest/globals'
import { parseScope, type Scope } from '@toolrack/contract'
import {
  scopeContent,
  VERSIONS_KEPT_MAX,
  type ScopeOwner,
} from '../../../../functions/src/features/scopes/kept-scope.ts'
import { StoredScopes } from '../../../../functions/src/features/scopes/stored-scopes.ts'
import { START_MS, type TwoDocuments } from '../../../support/two-stores.ts'

const ROOM: ScopeOwner = { kind: 'room', id: '!a/b:c.example' }
const AGENT: ScopeOwner = { kind: 'agent', id: ROOM.id }

const write = (store: StoredScopes, uid: string, owner: ScopeOwner, text: string) =>
  store.write({ uid, owner, precondition: {} }, () => scopeContent(parseScope(text) as Scope, []))

/** What the stored scopes guarantee over every adapter of the documents. */
export function storeContract(open: () => TwoDocuments): void {
  let opened: TwoDocuments | undefined
  afterEach(async () => {
    await opened?.dispose()
    opened = undefined
  })
  function scopes() {
    opened = open()
    const [one, other] = opened.documents.map(
      (documents) => new StoredScopes({ documents, now: () => START_MS }),
    )
    return { one: one as StoredScopes, other: other as StoredScopes }
  }
  test('each user, each kind and each id has a scope of its own, with its versions', async () => {
    const { one, other } = scopes()
    await write(one, 'ann', ROOM, 'a')
    await write(one, 'ann', AGENT, 'b')
    await write(one, 'bob', ROOM, 'c')
    expect(await write(other, 'ann', ROOM, 'd')).toMatchObject({
      outcome: 'updated',
      present: { version: 2 },
    })
    expect((await other.find('ann', ROOM))?.present.scope).toBe('d')
    expect(await other.find('bob', AGENT)).toBeUndefined()
    expect((await other.all('ann')).map(({ owner, present }) => [owner, present.scope])).toEqual([
      [AGENT, 'b'],
      [ROOM, 'd'],
    ])
    expect((await other.versions('ann', ROOM)).map(({ version, scope }) => `${version}${scope}`)).toEqual([
      '2d',
      '1a',
    ])
    await one.delete({ uid: 'ann', owner: ROOM, precondition: {} })
    expect(await one.versions('ann', ROOM)).toEqual([])
    await expect(one.delete({ uid: 'ann', owner: ROOM, precondition: {} })).rejects.toMatchObject({
      code: 'SCOPE_NOT_FOUND',
    })
  })

  test(`${VERSIONS_KEPT_MAX} versions are kept`, async () => {
    const { one } = scopes()
    for (let at = 0; at <= VERSIONS_KEPT_MAX; at += 1) await write(one, 'ann', ROOM, `t${at}`)
    const versions = await one.versions('ann', ROOM)
    expect([versions.length, versions[0]?.version, versions.at(-1)?.version]).toEqual([
      VERSIONS_KEPT_MAX,
      VERSIONS_KEPT_MAX + 1,
      2,
    ])
  })
}
