import { statSync } from 'node:fs'
import { createApp } from '../services.ts'
import { BodiesInFlight, bodyBudget } from '../../http/bodies-in-flight.ts'
import type { Catalog } from '../../catalog/views/catalog.ts'
import { OWN_DEFS_DIR, type Config } from '../config.ts'
import { FileAgents } from '../../stores/files/file-agents.ts'
import { FileLayer } from '../../stores/files/file-layer.ts'
import type { Log } from '../../log.ts'
import { closeServices, createServices, type ServiceParts, type Services } from '../services.ts'
import type { Served } from './banner.ts'
import { listen, stopListening } from './listen.ts'
import { hasDataFolder, openData } from './open-data.ts'
import { refuseMissingKeys } from './lost-secret-keys.ts'
import { openRunner, type PythonChoice } from './open-runner.ts'
import { noteAddress } from './running-server.ts'
import { EXIT, StartError } from './start-error.ts'
import { ApprovalWebhook } from '../../platform/webhook/approval-webhook.ts'

/** A running server. `stop` waits for unfinished answers, then closes everything. */
type Serving = Served & { readonly stop: () => Promise<void> }

/**
 * The functions that show calls and modules on the terminal. They are missing if there is no terminal. Then the log has
 * everything that the operator must know.
 */
export type Shown = Pick<ServiceParts, 'showCall' | 'showModule'>

/** Starts the embedded server in one process, on one port. Rejects with a StartError. */
export async function serve(
  config: Config,
  log: Log,
  python: PythonChoice = {},
  shown: Shown = {},
): Promise<Serving> {
  const { auth, definitionsFolder, toolsFolders } = config
  requireFolder('TOOLRACK_DEFS_DIR', definitionsFolder)
  if (config.agentsFolder.isNamed) requireFolder('TOOLRACK_AGENTS_DIR', config.agentsFolder.path)
  if (toolsFolders.isNamed) toolsFolders.paths.forEach((path) => requireFolder('TOOLRACK_TOOLS_DIR', path))
  const {
    store,
    logs,
    governance,
    artifactBytes,
    audit,
    kept,
    authentication,
    folderGrants,
    token,
    approverFile,
    closing,
    release: releaseData,
  } = openData(config, log)
  if (auth.kind === 'firebase' && auth.emulator)
    log.warn('FIREBASE_AUTH_EMULATOR_HOST is set: tokens of users need no signature')
  void audit?.recordLost()
  const runner = openRunner(config, python, log)
  const services = createServices({
    store,
    logs,
    governance,
    artifactBytes,
    audit,
    files: (compilers) => new FileLayer(definitionsFolder, compilers, { kept, ownFolder: OWN_DEFS_DIR }),
    agentFiles: new FileAgents(config.agentsFolder.path),
    toolsFolders: toolsFolders.paths,
    folderGrants,
    runner,
    ...authentication,
    log,
    ...shown,
    operatorRules: config.operatorRules,
    webhook: config.approvalsWebhook && new ApprovalWebhook(config.approvalsWebhook, log),
    settings: config.settings,
    corsOrigins: config.corsOrigins,
    callLimits: config.callLimits,
  })
  async function release(): Promise<void> {
    closing()
    await closeServices(services)
    await kept?.written()
    releaseData()
  }
  try {
    await refuseMissingKeys(services, config)
    await Promise.all([firstRead(services.catalog, config), services.agents.files.read()])
    await kept?.written()
    const bodies = new BodiesInFlight(bodyBudget(), auth.kind !== 'local')
    const listening = await listen(createApp({ ...services, bodies }), config.host, config.port)
    if (hasDataFolder(config)) noteAddress(config.dataFolder, listening.url)
    services.loopWatch.start()
    void reportRules(services)
    if (hasDataFolder(config)) void audit?.checkNewest()
    const health = await runner.health()
    return {
      url: listening.url,
      token,
      hasUsersFile: auth.kind === 'users',
      approverFile,
      withoutRunner: health.status === 'absent' ? health.reason : undefined,
      watched: toolsFolders.paths.filter(isFolder),
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

/** The most milliseconds that the report on the operator's rules waits for the modules of the watched folders. */
const FOLDER_CHECKED_MS_MAX = 60_000

/**
 * Begins to watch the folders of modules. Then reports how the operator's rules read arguments: once now, and once when the
 * modules of the folders were read.
 */
async function reportRules({ catalog, folder, signals, reportOperatorRules }: Services): Promise<void> {
  const started = folder?.start()
  await reportOperatorRules(await catalog.shared())
  if (!folder) return
  await started
  await folder.settled(FOLDER_CHECKED_MS_MAX)
  // On a busy machine the layer may be lost for a moment. Then its next read is awaited.
  const { promise: readAgain, resolve } = Promise.withResolvers<void>()
  signals.filesRead.listen(() => resolve())
  const view = await catalog.shared()
  await reportOperatorRules(view)
  if (view.isWhole) return
  await readAgain
  await reportOperatorRules(await catalog.shared())
}

/** Reads the layers for the first time. Firestore may never answer, so this function waits only as long as a request would. */
async function firstRead(catalog: Catalog, { store, auth }: Config): Promise<void> {
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
