import { statSync } from 'node:fs'
import { join } from 'node:path'
import { TOKEN_FILES } from '../../access/local-token.ts'
import { createApp } from '../../edge/app.ts'
import { BodiesInFlight, bodyBudget } from '../../edge/http/bodies-in-flight.ts'
import type { Catalog } from '../../tools/catalog/catalog.ts'
import type { Config } from '../config.ts'
import { FileAgents } from '../../stores/files/file-agents.ts'
import { FileLayer } from '../../stores/files/file-layer.ts'
import type { Log } from '../../log.ts'
import { closeServices, createServices, type ServiceParts } from '../services.ts'
import type { Served } from './banner.ts'
import { listen, stopListening } from './listen.ts'
import { openRunner, type PythonChoice } from './open-runner.ts'
import { EXIT, StartError } from './start-error.ts'
import { firestoreConnection } from '../../stores/firestore/connect-firestore.ts'
import { FirestoreDefinitionStore } from '../../stores/firestore/firestore-definition-store.ts'
import { FirestoreAuditStore } from '../../stores/firestore/firestore-audit-store.ts'
import { FirestoreInvocationLogs } from '../../stores/firestore/firestore-invocation-logs.ts'
import { ApprovalWebhook } from '../../platform/webhook/approval-webhook.ts'
import type { SchemaCompilers } from '../../tools/schemas/schema-compilers.ts'
import { authenticationOf } from '../authentication.ts'
import { firestoreGovernance } from '../firestore-governance.ts'
import { embeddedGovernance } from './governance.ts'
import {
  claimDataFolder,
  openGovernanceFile,
  openJobKeys,
  openLogs,
  openSealing,
  openStore,
  openToken,
} from './data-folder.ts'
import { openAudit } from './open-audit.ts'
import { openKeptAdmissions } from './open-kept-admissions.ts'

/** `stop` waits for unfinished answers, then closes everything. */
type Serving = Served & { readonly stop: () => Promise<void> }

/** How calls and modules are shown on the terminal. Without a terminal, the log has what the operator must know. */
export type Shown = Pick<ServiceParts, 'showCall' | 'showModule'>

/** Starts the embedded server: one process, one port. Rejects with a StartError. */
export async function serve(
  config: Config,
  log: Log,
  python: PythonChoice = {},
  shown: Shown = {},
): Promise<Serving> {
  const { auth, definitionsFolder, toolsFolder } = config
  requireFolder('TOOLRACK_DEFS_DIR', definitionsFolder)
  if (config.agentsFolder.isNamed) requireFolder('TOOLRACK_AGENTS_DIR', config.agentsFolder.path)
  if (toolsFolder?.isNamed) requireFolder('TOOLRACK_TOOLS_DIR', toolsFolder.path)
  const opened = openData(config, log)
  const {
    store,
    logs,
    governance,
    audit,
    kept,
    authentication,
    token,
    approverFile,
    release: releaseData,
  } = opened
  if (auth.kind === 'firebase' && auth.emulator)
    log.warn('FIREBASE_AUTH_EMULATOR_HOST is set: tokens of users need no signature')
  const runner = openRunner(config, python, log)
  const services = createServices({
    store,
    logs,
    governance,
    audit,
    files: (compilers) => new FileLayer(definitionsFolder, compilers, kept),
    agentFiles: new FileAgents(config.agentsFolder.path),
    toolsFolder: toolsFolder?.path,
    runner,
    ...authentication,
    log,
    ...shown,
    operatorRules: config.operatorRules,
    webhook: config.approvalsWebhook && new ApprovalWebhook(config.approvalsWebhook, log),
    envelope: config.envelope,
    defaultWorkflow: config.defaultWorkflow,
    invokeWorkflow: config.invokeWorkflow,
    corsOrigins: config.corsOrigins,
    callLimits: config.callLimits,
  })
  async function release(): Promise<void> {
    await closeServices(services)
    await kept?.written()
    releaseData()
  }
  try {
    await Promise.all([firstLook(services.catalog, config), services.agents.files.read()])
    await kept?.written()
    const bodies = new BodiesInFlight(bodyBudget(), auth.kind !== 'local')
    const listening = await listen(createApp({ ...services, bodies }), config.host, config.port)
    services.loopWatch.start()
    void services.folder?.folder.start()
    const health = await runner.health()
    return {
      url: listening.url,
      token,
      approverFile,
      withoutRunner: health.status === 'absent' ? health.reason : undefined,
      watched: toolsFolder && isFolder(toolsFolder.path) ? toolsFolder.path : undefined,
      async stop() {
        services.changes.feeds.close()
        await stopListening(listening)
        await release()
      },
    }
  } catch (error) {
    await release()
    throw error
  }
}

/** Opens the stores and keys. With Firestore and Firebase's tokens, there is no data folder and any number of servers may run. */
function openData(config: Config, log: Log) {
  if (config.store === 'firestore' && config.auth.kind === 'firebase') {
    const connection = firestoreConnection()
    return {
      ...inFirestore(connection, config.sealing),
      logs: new FirestoreInvocationLogs(connection, { bounds: config.logBounds }),
      audit: openAudit(config.audit, log, { store: new FirestoreAuditStore(connection) }),
      kept: undefined,
      authentication: authenticationOf(config),
      token: undefined,
      approverFile: undefined,
      release: () => undefined,
    }
  }
  const { path, release } = claimDataFolder(config.dataFolder, log)
  const stores =
    config.store === 'sqlite' ? embedded(path, config) : inFirestore(firestoreConnection(), config.sealing)
  const jobKeys = config.jobKeys ?? openJobKeys(path)
  const [token, approverToken] = config.auth.kind === 'local' ? openTokens(path) : []
  return {
    ...stores,
    logs: openLogs(path, config.logBounds),
    audit: openAudit(config.audit, log, { folder: path }),
    kept: openKeptAdmissions(path, log),
    authentication: authenticationOf({ auth: config.auth, jobKeys }, token, approverToken),
    token,
    approverFile: token === undefined ? undefined : join(path, TOKEN_FILES.approver),
    release,
  }
}

function openTokens(path: string) {
  return [openToken(path, 'local'), openToken(path, 'approver')] as const
}

function inFirestore(connection: ReturnType<typeof firestoreConnection>, sealing: Config['sealing']) {
  const store = (compilers: SchemaCompilers) => new FirestoreDefinitionStore({ compilers, connection })
  return { store, governance: firestoreGovernance(connection, sealing) }
}

function embedded(path: string, { storeBytesMax, sealing = openSealing(path) }: Config) {
  const store = openStore(path, storeBytesMax)
  return { store: () => store, governance: embeddedGovernance(openGovernanceFile(path), sealing) }
}

/** Reads the layers for the first time. Firestore may never answer, so this waits only as long as a request would wait. */
async function firstLook(catalog: Catalog, { store, auth }: Config): Promise<void> {
  const loading = catalog.load()
  await (store === 'sqlite' ? loading : catalog.shared())
  if (auth.kind === 'local') await catalog.view({ uid: 'local' })
}

function requireFolder(variable: string, path: string): void {
  if (!isFolder(path))
    throw new StartError(`${variable}: ${path} is not a folder that can be read.`, EXIT.badConfig)
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
