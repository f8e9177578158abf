import { afterEach, expect, test } from '@jest/globals'
import {
  AGENTS_PER_USER,
  LINKED_PROJECTS_MAX,
  LINKS_PER_USER,
  type Agent,
} from '../../../../functions/src/features/agents/agent.ts'
import {
  AgentStore,
  LINK_COUNT,
  type LinkedSession,
} from '../../../../functions/src/features/agents/agent-store.ts'
import { put as putDocument } from '../../../../functions/src/documents/collection.ts'
import type { Documents } from '../../../../functions/src/documents/documents.ts'
import type { TwoDocuments } from '../../../support/two-stores.ts'

/** An agent with the fields that the original service always writes, in its order. */
export function agentOf(id: string, more: Partial<Agent> = {}): Agent {
  return { id, name: id, description: null, workflowName: null, created: 1_000, updated: 1_000, ...more }
}

/** Writes the agent, whatever was there before. */
export function put(store: AgentStore, uid: string, agent: Agent): Promise<void> {
  return store.change(uid, agent.id, () => ({ agent, result: undefined }))
}

const SCHEMA = {
  type: 'object',
  properties: { path: { type: 'string', enum: ['a', null, 1, 2.5, true] } },
  required: ['path'],
}
const session = (sessionId: string, project?: string, uid = 'ann'): LinkedSession => ({
  uid,
  project,
  sessionId,
})

function setLinks(documents: Documents, links: number): Promise<void> {
  const write = putDocument(LINK_COUNT, { links })
  return documents.change('ann', [LINK_COUNT], () => ({ result: undefined, writes: [write] }))
}

/** What the agents guarantee over every adapter of the documents. */
export function storeContract(open: () => TwoDocuments): void {
  let opened: TwoDocuments | undefined
  afterEach(async () => {
    await opened?.dispose()
    opened = undefined
  })
  function stores(): readonly [AgentStore, AgentStore] {
    opened = open()
    const [one, other] = opened.documents
    return [new AgentStore(one), new AgentStore(other)]
  }

  test('an agent is kept as it is, also by the other instance, and other users have none', async () => {
    const [store, other] = stores()
    const agent = agentOf('reviewer', {
      name: 'Reviewer «é»',
      description: 'Reads code.',
      workflowName: 'codebase-jobs-Reviewer',
      tools: ['READ_FILE', 'weather:get'],
      inputSchema: SCHEMA,
    })
    expect(await store.find('ann', 'reviewer')).toBeUndefined()
    await put(store, 'ann', agent)
    expect(await other.find('ann', 'reviewer')).toEqual(agent)
    expect(Object.keys((await other.find('ann', 'reviewer')) ?? {})).toEqual(Object.keys(agent))
    expect(await other.find('bob', 'reviewer')).toBeUndefined()
    expect(await other.list('bob', 10, 'desc')).toEqual([])
  })

  test('an agent without tools has no list of tools, and an empty list stays an empty list', async () => {
    const [store] = stores()
    await put(store, 'ann', agentOf('none'))
    await put(store, 'ann', agentOf('empty', { tools: [] }))
    expect(await store.find('ann', 'none')).toEqual(agentOf('none'))
    expect(await store.find('ann', 'empty')).toEqual(agentOf('empty', { tools: [] }))
  })

  test('the list has the agents by the time of their creation, in both orders, at most as many as asked for', async () => {
    const [store] = stores()
    for (const [id, created] of [
      ['b', 2],
      ['d', 4],
      ['a', 1],
      ['c', 3],
    ] as const)
      await put(store, 'ann', agentOf(id, { created, updated: 9 - created }))
    const ids = async (limit: number, order: 'asc' | 'desc') =>
      (await store.list('ann', limit, order)).map(({ id }) => id).join('')
    expect([await ids(10, 'desc'), await ids(10, 'asc'), await ids(2, 'desc'), await ids(1, 'asc')]).toEqual([
      'dcba',
      'abcd',
      'dc',
      'a',
    ])
  })

  test('of several ids, those that agents have are found', async () => {
    const [store] = stores()
    await put(store, 'ann', agentOf('a'))
    await put(store, 'bob', agentOf('b'))
    expect(await store.taken('ann', ['a', 'b', 'c'])).toEqual(new Set(['a']))
    expect(await store.taken('ann', [])).toEqual(new Set())
  })

  test('a change replaces each field as a whole, and a user has at most so many agents', async () => {
    const [store, other] = stores()
    await put(store, 'ann', agentOf('a', { inputSchema: SCHEMA, tools: ['A', 'B'] }))
    const inputSchema = { type: 'object', properties: {} }
    await other.change('ann', 'a', (found) => ({
      agent: found && { ...found, inputSchema, tools: ['B'], updated: 2_000 },
      result: undefined,
    }))
    expect(await store.find('ann', 'a')).toEqual(agentOf('a', { inputSchema, tools: ['B'], updated: 2_000 }))
    for (let at = 1; at < AGENTS_PER_USER; at += 1) await put(store, 'ann', agentOf(`a${at}`))
    await expect(put(store, 'ann', agentOf('more'))).rejects.toMatchObject({ code: 'AGENTS_FULL' })
    await put(store, 'ann', agentOf('a1', { name: 'changed' }))
    await put(store, 'bob', agentOf('a'))
  })

  test('a change that gives back what it has read writes nothing, one without an agent deletes, one that throws does neither', async () => {
    const [store] = stores()
    await put(store, 'ann', agentOf('a'))
    expect(await store.change('ann', 'a', (found) => ({ agent: found, result: 'same' }))).toBe('same')
    const refused = store.change('ann', 'a', () => {
      throw new RangeError('not so')
    })
    await expect(refused).rejects.toThrow('not so')
    expect(await store.find('ann', 'a')).toEqual(agentOf('a'))
    await store.change('ann', 'a', () => ({ agent: undefined, result: undefined }))
    expect(await store.find('ann', 'a')).toBeUndefined()
  })

  test('a session has one agent for each user and project, and one without a project', async () => {
    const [store, other] = stores()
    const places = [session('s'), session('s', 'p1'), session('s', 'p2'), session('s', undefined, 'bob')]
    for (const [index, place] of places.entries()) {
      expect(await other.linked(place)).toBeUndefined()
      expect(await store.link(place, `agent${index}`, 1_000)).toBe(true)
    }
    expect(await Promise.all(places.map((place) => other.linked(place)))).toEqual(
      places.map((_, index) => `agent${index}`),
    )
    expect(await store.link(session('s', 'p1'), 'other', 2_000)).toBe(true)
    expect(await other.linked(session('s', 'p1'))).toBe('other')
    expect(await store.unlink(session('s', 'p1'))).toBe(true)
    expect(await other.linked(session('s', 'p1'))).toBeUndefined()
    expect(await store.unlink(session('s', 'p1'))).toBe(false)
    expect(await other.linked(session('s', 'p2'))).toBe('agent2')
  })

  test('the agents of a session are those of all its projects, each once, as the other instance sees them too', async () => {
    const [store, other] = stores()
    expect(await other.linkedAgents('ann', 's')).toEqual([])
    for (const [agent, place] of [
      ['b', session('s')],
      ['a', session('s', 'p1')],
      ['b', session('s', 'p2')],
      ['other-session', session('t', 'p1')],
      ['other-user', session('s', 'p1', 'bob')],
    ] as const)
      await store.link(place, agent, 1_000)
    expect(await other.linkedAgents('ann', 's')).toEqual(['a', 'b'])
    expect(await other.linkedAgents('bob', 's')).toEqual(['other-user'])
    await other.link(session('s', 'p1'), 'c', 2_000)
    expect(await store.linkedAgents('ann', 's')).toEqual(['b', 'c'])
    await store.unlink(session('s', 'p1'))
    await store.unlink(session('s'))
    expect(await other.linkedAgents('ann', 's')).toEqual(['b'])
    await store.unlink(session('s', 'p2'))
    expect(await other.linkedAgents('ann', 's')).toEqual([])
  })

  test(`a session is linked in at most ${LINKED_PROJECTS_MAX} projects, and may be linked anew in each of them`, async () => {
    const [store] = stores()
    for (let at = 0; at < LINKED_PROJECTS_MAX; at += 1)
      expect(await store.link(session('s', `p${at}`), 'a', 1_000)).toBe(true)
    expect(await store.link(session('s'), 'b', 1_000)).toBe(false)
    expect(await store.linked(session('s'))).toBeUndefined()
    expect(await store.link(session('s', 'p7'), 'b', 1_000)).toBe(true)
    expect(await store.link(session('t'), 'b', 1_000)).toBe(true)
    expect(await store.linkedAgents('ann', 's')).toEqual(['a', 'b'])
    await store.unlink(session('s', 'p7'))
    expect(await store.link(session('s'), 'b', 1_000)).toBe(true)
  })

  test('a user with the most links gets no new one until one is deleted, but may change one', async () => {
    opened = open()
    const [documents] = opened.documents
    const store = new AgentStore(documents)
    await store.link(session('known'), 'a', 1)
    await setLinks(documents, LINKS_PER_USER)
    const link = (sessionId: string) => store.link(session(sessionId), 'b', 2)
    expect([await link('new'), await link('known')]).toEqual([false, true])
    expect(await store.unlink(session('known'))).toBe(true)
    expect([await link('new'), await link('known')]).toEqual([true, false])
  })

  test('ids of sessions and projects of any characters are ids, and never paths', async () => {
    const [store] = stores()
    const odd = session('a b:ü?#%2F..', 'p.%2e%2e é"')
    await store.link(odd, 'a', 1_000)
    expect(await store.linked(odd)).toBe('a')
    expect(await store.linkedAgents('ann', odd.sessionId)).toEqual(['a'])
  })
}
