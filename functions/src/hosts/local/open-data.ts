import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { TOKEN_FILES } from '../../access/local-token.ts'
import type { Log } from '../../log.ts'
import { firestoreConnection } from '../../stores/firestore/connect-firestore.ts'
import { FirestoreAuditStore } from '../../stores/firestore/firestore-audit-store.ts'
import { FirestoreDefinitionStore } from '../../stores/firestore/firestore-definition-store.ts'
import { FirestoreInvocationLogs } from '../../stores/firestore/firestore-invocation-logs.ts'
import type { SchemaCompilers } from '../../catalog/schemas/schema-compilers.ts'
import { authenticationOf } from '../authentication.ts'
import type { Config } from '../config.ts'
import { bucketOf } from '../bucket-of.ts'
import { firestoreGovernance } from '../firestore-governance.ts'
import { claimDataFolder } from './data-folder.ts'
import { DatabaseList } from './database-list.ts'
import { embeddedGovernance } from './governance.ts'
import { openJobKeys, openSealing, openSecretKeys, openToken } from './key-files.ts'
import type { DatabaseName } from './lost-database.ts'
import { openAudit } from './open-audit.ts'
import { openArtifacts, openGovernanceFile, openLogs, openStore } from './open-databases.ts'
import { forgetAddress } from './running-server.ts'
import { watchedUsers } from './users-file.ts'
import { openKeptAdmissions } from './open-kept-admissions.ts'

/** True if the server has a data folder. False if it keeps everything in Firestore and uses Firebase's tokens. */
export function hasDataFolder({ store, auth }: Config): boolean {
  return store !== 'firestore' || auth.kind !== 'firebase'
}

/**
 * Opens the stores and keys of the embedded server. With Firestore and Firebase's tokens, there is no data folder, and any number
 * of servers may run. Call `closing` before the stores are closed, and `release` afterwards.
 */
export function openData(config: Config, log: Log) {
  if (!hasDataFolder(config)) {
    const connection = firestoreConnection()
    return {
      ...inFirestore(connection, config, log),
      logs: new FirestoreInvocationLogs(connection, { bounds: config.logBounds }),
      audit: openAudit(config.audit, log, { store: new FirestoreAuditStore(connection) }),
      kept: undefined,
      authentication: authenticationOf(config),
      folderGrants: undefined,
      token: undefined,
      approverFile: undefined,
      closing: () => undefined,
      release: () => undefined,
    }
  }
  const { path, release } = claimDataFolder(config.dataFolder, log)
  // The last server may have been killed.
  forgetAddress(path)
  try {
    return { ...openFolder(path, config, log), release }
  } catch (error) {
    release()
    throw error
  }
}

function openFolder(path: string, config: Config, log: Log) {
  const databases = databasesOf(config)
  // These are made at the first start, whatever the server stores where.
  const isUpgrade = ['governance.sqlite', 'invocations.db'].some((name) => existsSync(join(path, name)))
  const list = new DatabaseList(path, databases, log)
  const stores =
    config.store === 'sqlite' ? embedded(path, config) : inFirestore(firestoreConnection(), config, log)
  const jobKeys = config.jobKeys ?? openJobKeys(path)
  const [token, approverToken] = config.auth.kind === 'local' ? openTokens(path) : []
  const users = config.auth.kind === 'users' ? watchedUsers(config.auth.usersFile, log) : undefined
  const logs = openLogs(path, config.logBounds)
  const audit = openAudit(config.audit, log, { folder: path })
  list.noteOpen(databases)
  return {
    ...stores,
    logs,
    audit,
    kept: openKeptAdmissions(path, log),
    authentication: authenticationOf({ auth: config.auth, jobKeys }, token, approverToken, users),
    folderGrants: { isUpgrade },
    token,
    approverFile: token === undefined ? undefined : join(path, TOKEN_FILES.approver),
    closing: () => {
      forgetAddress(path)
      list.noteClosing()
    },
  }
}

/** The databases of the data folder that a server with these settings uses. */
function databasesOf({ store, audit }: Config): readonly DatabaseName[] {
  const stored: readonly DatabaseName[] = store === 'sqlite' ? ['toolrack.db', 'governance.sqlite'] : []
  return audit.mode === 'off' ? stored : [...stored, 'audit.sqlite']
}

function openTokens(path: string) {
  return [openToken(path, 'local'), openToken(path, 'approver')] as const
}

function inFirestore(connection: ReturnType<typeof firestoreConnection>, config: Config, log: Log) {
  const store = (compilers: SchemaCompilers) => new FirestoreDefinitionStore({ compilers, connection })
  return {
    store,
    governance: firestoreGovernance(connection, config.sealing, config.secretKeys),
    artifactBytes: bucketOf(config, log),
  }
}

function embedded(path: string, config: Config) {
  const { storeBytesMax, sealing = openSealing(path), secretKeys = openSecretKeys(path) } = config
  const store = openStore(path, storeBytesMax)
  return {
    store: () => store,
    governance: embeddedGovernance(openGovernanceFile(path), sealing, secretKeys),
    artifactBytes: openArtifacts(path),
  }
}
