import type { JsonObject } from '@toolrack/contract'
import type {
  CollectionReference,
  DocumentReference,
  DocumentSnapshot,
  Firestore,
  Transaction,
} from 'firebase-admin/firestore'
import { LINKED_PROJECTS_MAX, LINKS_PER_USER, type Agent } from '../../features/agents/agent.ts'
import type { AgentStore, LinkedSession, ListOrder, PlannedAgent } from '../../features/agents/agent-store.ts'
import { STORE_DEADLINES } from './connect-firestore.ts'
import { DocumentChanges } from './document-changes.ts'
import type { FirestoreConnection } from './firestore-connection.ts'
import { firestoreError } from './firestore-error.ts'
import { documentJson } from './foreign-documents.ts'
import { restData } from './rest-data.ts'

/**
 * The agents as the original service keeps them: in `users/{uid}/agents/{id}`, and the links of sessions in
 * `users/{uid}/projects/{project}/agentSessions/{session}`, or `users/{uid}/agentSessions/{session}` if no project was named. The
 * document `users/{uid}/tools/agents` counts the links that this service has made, and `users/{uid}/tools/agents/sessions/{session}`
 * has the projects in which it has linked a session, because no query of one user finds them.
 */
export class FirestoreAgentStore implements AgentStore {
  readonly #connection: FirestoreConnection
  readonly #changes: DocumentChanges

  constructor(connection: FirestoreConnection) {
    this.#connection = connection
    this.#changes = new DocumentChanges(connection)
  }

  open = async (): Promise<void> => {
    if (!this.#connection.rest) await this.#connection.client().catch(() => undefined)
  }

  find = (uid: string, id: string): Promise<Agent | undefined> =>
    this.#within(STORE_DEADLINES.readMs, async () => agentIn(await (await this.#agents(uid)).doc(id).get()))

  list = (uid: string, limit: number, order: ListOrder): Promise<readonly Agent[]> =>
    this.#within(STORE_DEADLINES.readMs, async () => {
      const found = await (await this.#agents(uid)).orderBy('created', order).limit(limit).get()
      return found.docs.flatMap((document) => agentIn(document) ?? [])
    })

  taken = (uid: string, ids: readonly string[]): Promise<ReadonlySet<string>> =>
    this.#within(STORE_DEADLINES.readMs, async () => {
      if (ids.length === 0) return new Set<string>()
      const agents = await this.#agents(uid)
      const found = await agents.firestore.getAll(...ids.map((id) => agents.doc(id)), { fieldMask: [] })
      return new Set(found.filter(({ exists }) => exists).map(({ id }) => id))
    })

  change = <Result>(
    uid: string,
    id: string,
    plan: (found: Agent | undefined, count: number) => PlannedAgent<Result>,
  ): Promise<Result> =>
    this.#change(uid, async (transaction) => {
      const agents = await this.#agents(uid)
      const found = agentIn(await transaction.get(agents.doc(id)))
      const count = found ? 0 : (await transaction.get(agents.count())).data().count
      const { agent, result } = plan(found, count)
      if (!agent) transaction.delete(agents.doc(id))
      // Fields of other programs stay in the document. Each field of an agent is replaced as a whole, not merged.
      else if (agent !== found)
        transaction.set(agents.doc(id), { ...agent }, { mergeFields: Object.keys(agent) })
      return result
    })

  linked = (session: LinkedSession): Promise<string | undefined> =>
    this.#within(STORE_DEADLINES.readMs, async () => agentIdIn(await (await this.#session(session)).get()))

  linkedAgents = (uid: string, sessionId: string): Promise<readonly string[]> =>
    this.#within(STORE_DEADLINES.readMs, async (signal) => {
      const [index] = await this.#data([indexSegments(uid, sessionId)], signal)
      const places = projectsIn(index).map((project) => linkSegments({ uid, project, sessionId }))
      const links = places.length === 0 ? [] : await this.#data(places, signal)
      const agents = links.map((link) => link?.['agentId']).filter((agent) => typeof agent === 'string')
      return [...new Set(agents)].toSorted()
    })

  link = (session: LinkedSession, agentId: string, nowMs: number): Promise<boolean> =>
    this.#change(session.uid, async (transaction) => {
      const document = await this.#session(session)
      const before = await transaction.get(document)
      const { index, projects } = await this.#index(transaction, session)
      const { sessionId, project = NO_PROJECT } = session
      const isKnown = projects.includes(project)
      if (!isKnown && projects.length >= LINKED_PROJECTS_MAX) return false
      if (!before.exists && !(await this.#countLink(transaction, session.uid, 1))) return false
      if (!isKnown) transaction.set(index, { projects: [...projects, project] })
      const fields = { sessionId, agentId, updated: nowMs, ...(!before.exists && { created: nowMs }) }
      transaction.set(document, fields, { merge: true })
      return true
    })

  unlink = (session: LinkedSession): Promise<boolean> =>
    this.#change(session.uid, async (transaction) => {
      const document = await this.#session(session)
      if (!(await transaction.get(document)).exists) return false
      const { index, projects } = await this.#index(transaction, session)
      await this.#countLink(transaction, session.uid, -1)
      const left = projects.filter((project) => project !== (session.project ?? NO_PROJECT))
      if (left.length === 0) transaction.delete(index)
      else if (left.length < projects.length) transaction.set(index, { projects: left })
      transaction.delete(document)
      return true
    })

  /** The document with the projects in which this service has linked the session, and these projects. */
  async #index(transaction: Transaction, { uid, sessionId }: LinkedSession) {
    const index = (await this.#user(uid))
      .collection('tools')
      .doc('agents')
      .collection('sessions')
      .doc(sessionId)
    return { index, projects: projectsIn((await transaction.get(index)).data()) }
  }

  /** The documents with these paths, in this order. */
  async #data(paths: readonly Path[], signal: AbortSignal): Promise<readonly (Fields | undefined)[]> {
    const { rest } = this.#connection
    if (!rest) {
      const firestore = await this.#connection.client()
      const found = await firestore.getAll(...paths.map((path) => documentAt(firestore, path)))
      return found.map((document) => document.data())
    }
    const names = paths.map((path) => rest.name(path))
    const body = { documents: names }
    const elements = await rest.ask({ at: [], method: 'batchGet', body, read: (one) => [one], signal })
    if (elements.every(({ readTime }) => readTime === undefined))
      throw new Error('Firestore sent no time of the read')
    const found = new Map(
      elements.flatMap((one) => (one.found ? [[one.found.name, one.found.fields] as const] : [])),
    )
    return names.map((name) => (found.has(name) ? restData(found.get(name)) : undefined))
  }

  /** Counts a link that comes or goes. False if the user has as many as they may have. */
  async #countLink(transaction: Transaction, uid: string, step: 1 | -1): Promise<boolean> {
    const counter = (await this.#user(uid)).collection('tools').doc('agents')
    const links = Number((await transaction.get(counter)).get('links') ?? 0)
    if (links + step > LINKS_PER_USER) return false
    // Links of the original service are not counted when they come, and may go.
    transaction.set(counter, { links: Math.max(0, links + step) })
    return true
  }

  async #session({ uid, project, sessionId }: LinkedSession): Promise<DocumentReference> {
    const user = await this.#user(uid)
    const owner = project === undefined ? user : user.collection('projects').doc(project)
    return owner.collection('agentSessions').doc(sessionId)
  }

  async #agents(uid: string): Promise<CollectionReference> {
    return (await this.#user(uid)).collection('agents')
  }

  /** The path is built segment by segment, so that no id can change which document it names. */
  async #user(uid: string): Promise<DocumentReference> {
    return (await this.#connection.client()).collection('users').doc(uid)
  }

  #change<Result>(uid: string, act: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#changes.change(STORE_DEADLINES.writeMs, () => this.#user(uid), act)
  }

  async #within<Result>(ms: number, act: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    try {
      return await this.#connection.calls.within(ms, act)
    } catch (error) {
      throw firestoreError(error)
    }
  }
}

/** In the list of a session's projects, that no project was named. No id of a project is empty. */
const NO_PROJECT = ''

type Path = readonly string[]
type Fields = Readonly<Record<string, unknown>>

function linkSegments({ uid, project = NO_PROJECT, sessionId }: LinkedSession): Path {
  const owner = ['users', uid, ...(project === NO_PROJECT ? [] : ['projects', project])]
  return [...owner, 'agentSessions', sessionId]
}

function indexSegments(uid: string, sessionId: string): Path {
  return ['users', uid, 'tools', 'agents', 'sessions', sessionId]
}

/** The path is built segment by segment, so that no id can change which document it names. */
function documentAt(firestore: Firestore, [collection = '', id = '', ...rest]: Path): DocumentReference {
  let document = firestore.collection(collection).doc(id)
  for (let at = 0; at < rest.length; at += 2)
    document = document.collection(rest[at] ?? '').doc(rest[at + 1] ?? '')
  return document
}

function projectsIn(data: Fields | undefined): readonly string[] {
  const projects = data?.['projects']
  return Array.isArray(projects) ? projects.filter((project) => typeof project === 'string') : []
}

/** Reads a document of this service or of the original one. What other programs have left out or spoilt is read as absent. */
function agentIn(document: DocumentSnapshot): Agent | undefined {
  const data = document.data()
  if (!data) return undefined
  const { name, description, workflowName, created, updated, tools, inputSchema } = data as Record<
    string,
    unknown
  >
  const createdMs = msOf(created) ?? 0
  const schema = schemaIn(inputSchema)
  return {
    id: document.id,
    name: textOr(name) ?? document.id,
    description: textOr(description),
    workflowName: textOr(workflowName),
    created: createdMs,
    updated: msOf(updated) ?? createdMs,
    ...(Array.isArray(tools) && { tools: tools.filter((tool) => typeof tool === 'string') }),
    ...(schema && { inputSchema: schema }),
  }
}

/** Undefined for anything but a map, and for a map with a value that JSON cannot hold. */
function schemaIn(value: unknown): JsonObject | undefined {
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return undefined
  const read = documentJson(value)
  return 'json' in read ? read.json : undefined
}

function agentIdIn(document: DocumentSnapshot): string | undefined {
  return textOr(document.get('agentId')) ?? undefined
}

function textOr(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** Milliseconds since 1970, from a number or from a time of Firestore. */
function msOf(value: unknown): number | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value !== 'object' || value === null || !('toMillis' in value)) return undefined
  return (value as { toMillis(): number }).toMillis()
}
