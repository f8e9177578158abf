import type { ToolDefinition } from '@toolrack/contract'
import type { Authentication } from '../../functions/src/hosts/authentication.ts'
import type { LayerSource } from '../../functions/src/catalog/views/layer-source.ts'
import { FileLayer } from '../../functions/src/stores/files/file-layer.ts'
import type { FirestoreConnection } from '../../functions/src/stores/firestore/firestore-connection.ts'
import { FirestoreDefinitionStore } from '../../functions/src/stores/firestore/firestore-definition-store.ts'
import { STORE_DEADLINES } from '../../functions/src/stores/firestore/connect-firestore.ts'
import { listen, stopListening } from '../../functions/src/hosts/local/listen.ts'
import { absentRunner } from '../../functions/src/catalog/definitions/runner.ts'
import { firestoreGovernance } from '../../functions/src/hosts/firestore-governance.ts'
import { closeServices, createServices, type ServiceParts } from '../../functions/src/hosts/services.ts'
import { checkedApp } from './checked-answers.ts'
import { put, tool } from './definition-changes.ts'
import { memoryGovernance } from './memory-governance.ts'
import { memoryInvocationLogs } from './memory-invocation-logs.ts'

export type FirestoreService = AsyncDisposable & {
  readonly url: string
  readonly logged: readonly string[]
  /** `fetch` with a path of the service. */
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>
  /** Closes the store, and resolves when no request runs. After this call the service can only be disposed. */
  readonly ended: () => Promise<void>
}

export type FirestoreServiceOptions = {
  readonly deadlines?: typeof STORE_DEADLINES
  /** By default every request is from the user ann, who is an admin. */
  readonly access?: Authentication
  /** A folder of definition files. By default the file layer has the one tool `inFile`. */
  readonly definitions?: string
  readonly now?: () => number
  readonly settings?: ServiceParts['settings']
  /** True if rules are in Firestore too. By default they are in memory, so that tests can count the reads of layers. */
  readonly hasRules?: boolean
}

const ANN: Authentication = {
  authenticate: ({ family }) =>
    Promise.resolve(
      family === 'jobs'
        ? { kind: 'job', uid: 'ann', isAdmin: true }
        : { kind: 'user', uid: 'ann', isAdmin: true, mayApprove: true },
    ),
  signJobToken: undefined,
}

/** The whole service over Firestore in the test's own process. */
export async function firestoreService(
  connection: FirestoreConnection,
  {
    deadlines = STORE_DEADLINES,
    access = ANN,
    definitions,
    now = Date.now,
    settings,
    hasRules = false,
  }: FirestoreServiceOptions = {},
): Promise<FirestoreService> {
  const logged: string[] = []
  const log = (message: string, fields?: unknown): void =>
    void logged.push(`${message} ${JSON.stringify(fields)}`)
  const services = createServices({
    ...access,
    now,
    store: (compilers) => new FirestoreDefinitionStore({ connection, compilers, deadlines }),
    files: (compilers) =>
      definitions === undefined ? fixed(tool('inFile')) : new FileLayer(definitions, compilers),
    logs: memoryInvocationLogs(),
    governance: hasRules ? firestoreGovernance(connection) : memoryGovernance(),
    runner: absentRunner('No runner belongs to this test.'),
    log: { info: log, warn: log, error: log },
    settings,
    corsOrigins: [],
  })
  const listening = await listen(await checkedApp(services), '127.0.0.1', 0)
  return {
    url: listening.url,
    logged,
    fetch: (path, init) => fetch(listening.url + path, init),
    ended: () => services.store.close(),
    [Symbol.asyncDispose]: async () => {
      services.changes.feeds.close()
      await stopListening(listening)
      await closeServices(services)
    },
  }
}

function fixed(...tools: readonly ToolDefinition[]): LayerSource {
  const definitions = tools.map((definition) => ({ ...put(definition), revision: 'f1' }))
  return {
    read: () => Promise.resolve({ revision: 'f1', whole: true, definitions, deleted: [], skipped: [] }),
  }
}
