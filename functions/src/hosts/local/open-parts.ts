import { authenticationOf } from '../authentication.ts'
import type { Authentication } from '../authentication.ts'
import type { Config } from '../config.ts'
import { firestoreConnection } from '../../stores/firestore/connect-firestore.ts'
import type { FirestoreConnection } from '../../stores/firestore/firestore-connection.ts'
import { FirestoreDefinitionStore } from '../../stores/firestore/firestore-definition-store.ts'
import { FirestoreInvocationLogs } from '../../stores/firestore/firestore-invocation-logs.ts'
import type { Log } from '../../log.ts'
import type { ServiceParts } from '../services.ts'
import { claimDataFolder } from './data-folder.ts'
import { openJobKeys } from './open-job-keys.ts'
import { openLogs } from './open-logs.ts'
import { openStore } from './open-store.ts'
import { openToken } from './open-token.ts'

/** What the environment chooses: where definitions are kept, and who is known. */
export type Parts = {
  readonly store: ServiceParts['store']
  readonly logs: ServiceParts['logs']
  readonly authentication: Authentication
  /** The local token; none where users come with Firebase tokens. */
  readonly token: string | undefined
  readonly release: () => void
}

/** Opens the parts. With Firestore and Firebase's tokens nothing is kept on this machine, and any number of servers may run. */
export function openParts(config: Config, log: Log): Parts {
  const { store, auth } = config
  if (store === 'firestore' && auth.kind === 'firebase') {
    const connection = firestoreConnection()
    return {
      store: firestoreStore(connection),
      logs: new FirestoreInvocationLogs(connection, { bounds: config.logBounds }),
      authentication: authenticationOf(config),
      token: undefined,
      release: () => undefined,
    }
  }
  const folder = claimDataFolder(config.dataFolder, log)
  const embedded = store === 'sqlite' ? openStore(folder.path, config.storeBytesMax) : undefined
  const jobKeys = config.jobKeys ?? openJobKeys(folder.path)
  const token = auth.kind === 'local' ? openToken(folder.path) : undefined
  return {
    store: embedded ? () => embedded : firestoreStore(firestoreConnection()),
    logs: openLogs(folder.path, config.logBounds),
    authentication: authenticationOf({ auth, jobKeys }, token),
    token,
    release: folder.release,
  }
}

function firestoreStore(connection: FirestoreConnection): ServiceParts['store'] {
  return (compilers) => new FirestoreDefinitionStore({ compilers, connection })
}
