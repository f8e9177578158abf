import { expect, test } from '@jest/globals'
import { Timestamp } from '@google-cloud/firestore'
import { FirestoreDocuments } from '../../../../functions/src/stores/firestore/firestore-documents.ts'
import { AgentStore } from '../../../../functions/src/features/agents/agent-store.ts'
import { LINKS_PER_USER } from '../../../../functions/src/features/agents/agent.ts'
import { firestoreService } from '../../../support/firestore-service.ts'
import {
  connectionTo,
  describeOnEmulatorByEach,
  newProject,
  openFirestore,
  type Reading,
} from '../../../support/firestore-emulator.ts'

/** What the original service has written: an agent with everything, one as plain as possible, and one that PATCH has emptied. */
const RECORDED = {
  'users/ann/agents/f0Zk3YqYw1bN8sLr2TdP': {
    id: 'f0Zk3YqYw1bN8sLr2TdP',
    name: 'Reviewer',
    description: 'Reads a change and says what is wrong with it.',
    workflowName: 'codebase-jobs-Reviewer',
    created: 1_757_000_000_001,
    updated: 1_757_000_300_002,
    tools: ['READ_FILE', 'RUN_COMMAND'],
    inputSchema: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  },
  'users/ann/agents/Qm2V7cXh9Ej4KaTnUo5B': {
    id: 'Qm2V7cXh9Ej4KaTnUo5B',
    name: 'Plain',
    description: null,
    workflowName: null,
    created: 1_757_000_000_000,
    updated: 1_757_000_000_000,
  },
  'users/ann/agents/A1b2C3d4E5f6G7h8I9j0': {
    id: 'A1b2C3d4E5f6G7h8I9j0',
    name: 'Emptied',
    description: '',
    workflowName: '',
    created: 1_756_000_000_000,
    updated: 1_757_000_000_009,
    tools: [],
    inputSchema: null,
  },
  'users/ann/projects/library/agentSessions/session-1': {
    sessionId: 'session-1',
    agentId: 'f0Zk3YqYw1bN8sLr2TdP',
    updated: 1_757_000_000_500,
    created: 1_757_000_000_500,
  },
} as const

/** A session of Ann's without a project. */
const place = (sessionId: string) => ({ uid: 'ann', project: undefined, sessionId })

/** A store over a new project with these documents. */
async function agentsOver(documents: Readonly<Record<string, object>>, reading: Reading) {
  const projectId = newProject()
  const firestore = openFirestore(projectId)
  for (const [path, data] of Object.entries(documents)) await firestore.doc(path).set(data)
  const connection = connectionTo(projectId, { reading })
  const store = new AgentStore(new FirestoreDocuments(connection))
  return {
    store,
    firestore,
    async [Symbol.asyncDispose]() {
      await connection.close()
      await firestore.terminate()
    },
  }
}

describeOnEmulatorByEach('agents in Firestore', (reading) => {
  const storeOver = (documents: Readonly<Record<string, object>>) => agentsOver(documents, reading)

  test('a link that the original service has changed or removed meanwhile counts as it is now', async () => {
    await using over = await storeOver({})
    const { store, firestore } = over
    for (const project of ['p1', 'p2'])
      await store.link({ uid: 'ann', project, sessionId: 's' }, project, 1_000)
    await firestore.doc('users/ann/projects/p1/agentSessions/s').set({ sessionId: 's', agentId: 'other' })
    await firestore.doc('users/ann/projects/p2/agentSessions/s').delete()
    expect(await store.linkedAgents('ann', 's')).toEqual(['other'])
  })

  test('the documents of the original service are read as they are', async () => {
    await using over = await storeOver(RECORDED)
    const { store } = over
    const reviewer = RECORDED['users/ann/agents/f0Zk3YqYw1bN8sLr2TdP']
    const plain = RECORDED['users/ann/agents/Qm2V7cXh9Ej4KaTnUo5B']
    const { inputSchema: _none, ...emptied } = RECORDED['users/ann/agents/A1b2C3d4E5f6G7h8I9j0']
    expect(await store.list('ann', 50, 'desc')).toEqual([reviewer, plain, emptied])
    expect(await store.find('ann', reviewer.id)).toEqual(reviewer)
    expect(await store.linked({ uid: 'ann', project: 'library', sessionId: 'session-1' })).toBe(reviewer.id)
    expect(await store.linked({ uid: 'ann', project: undefined, sessionId: 'session-1' })).toBeUndefined()
  })

  test('a client of the original service finds its agents and its session', async () => {
    const projectId = newProject()
    const firestore = openFirestore(projectId)
    for (const [path, data] of Object.entries(RECORDED)) await firestore.doc(path).set(data)
    await firestore.terminate()
    await using service = await firestoreService(connectionTo(projectId), { hasRules: true })
    const ask = async (path: string) =>
      (await service.fetch(path, { headers: { 'x-project-id': 'library' } })).json() as Promise<object>
    const reviewer = RECORDED['users/ann/agents/f0Zk3YqYw1bN8sLr2TdP']
    expect(await ask(`/agents/${reviewer.id}`)).toEqual({ agent: reviewer })
    expect(await ask('/workflows/agents?limit=1')).toEqual({ agents: [reviewer] })
    expect(await ask('/agents/session/session-1')).toEqual({ sessionId: 'session-1', agentId: reviewer.id })
    expect(await ask('/jobs/agents/session/session-1/tools')).toEqual({ tools: reviewer.tools })
    expect(await ask('/agents/Qm2V7cXh9Ej4KaTnUo5B/tools')).toEqual({ tools: [] })
  })

  test('what is written are documents of the original service, in its places', async () => {
    await using over = await storeOver({})
    const { store, firestore } = over
    const agent = RECORDED['users/ann/agents/f0Zk3YqYw1bN8sLr2TdP']
    await store.change('ann', agent.id, () => ({ agent, result: undefined }))
    const { sessionId, agentId, created } = RECORDED['users/ann/projects/library/agentSessions/session-1']
    await store.link({ uid: 'ann', project: 'library', sessionId }, agentId, created)
    await store.link({ uid: 'ann', project: undefined, sessionId }, agentId, created)
    const written = async (path: string) => (await firestore.doc(path).get()).data()
    expect(await written(`users/ann/agents/${agent.id}`)).toEqual(agent)
    const link = { sessionId, agentId, created, updated: created }
    expect(await written('users/ann/projects/library/agentSessions/session-1')).toEqual(link)
    expect(await written('users/ann/agentSessions/session-1')).toEqual(link)
    await store.link({ uid: 'ann', project: 'library', sessionId }, 'other', created + 5)
    expect(await written('users/ann/projects/library/agentSessions/session-1')).toEqual({
      ...link,
      agentId: 'other',
      updated: created + 5,
    })
  })

  test('a change keeps the fields of other programs', async () => {
    await using over = await storeOver({
      'users/ann/agents/a': { id: 'a', name: 'A', created: 1, updated: 1, color: 'red' },
    })
    const { store, firestore } = over
    await store.change('ann', 'a', (found) => ({
      agent: found && { ...found, name: 'B' },
      result: undefined,
    }))
    expect((await firestore.doc('users/ann/agents/a').get()).data()).toMatchObject({
      name: 'B',
      color: 'red',
    })
  })

  test('a document of another form is an agent without what cannot be read', async () => {
    const at = Timestamp.fromMillis(5_000)
    await using over = await storeOver({
      'users/ann/agents/odd': {
        name: 7,
        description: ['x'],
        created: at,
        updated: Number.NaN,
        tools: ['A', 3, null],
        inputSchema: { when: at },
      },
    })
    const odd = {
      id: 'odd',
      name: 'odd',
      description: null,
      workflowName: null,
      created: 5_000,
      updated: 5_000,
      tools: ['A'],
    }
    expect(await over.store.find('ann', 'odd')).toEqual(odd)
  })

  test('a user with the most links gets no new one until one is deleted, but may change one', async () => {
    await using over = await storeOver({
      'users/ann/tools/agents': { links: LINKS_PER_USER },
      'users/ann/agentSessions/known': { sessionId: 'known', agentId: 'a', created: 1, updated: 1 },
    })
    const link = (sessionId: string) => over.store.link(place(sessionId), 'b', 2)
    expect([await link('new'), await link('known')]).toEqual([false, true])
    expect(await over.store.unlink(place('known'))).toBe(true)
    expect([await link('new'), await link('known')]).toEqual([true, false])
  })
})
