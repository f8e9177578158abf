import { statSync } from 'node:fs'
import { createApp } from '../../edge/app.ts'
import { BodiesInFlight, bodyBudget } from '../../edge/http/bodies-in-flight.ts'
import type { Catalog } from '../../tools/catalog/catalog.ts'
import type { Config } from '../config.ts'
import { FileLayer } from '../../stores/files/file-layer.ts'
import type { Log } from '../../log.ts'
import { closeServices, createServices } from '../services.ts'
import { listen, stopListening } from './listen.ts'
import { openRunner } from './open-runner.ts'
import type { PythonChoice } from './open-runner.ts'
import { openParts } from './open-parts.ts'
import { EXIT, StartError } from './start-error.ts'

export type Serving = {
  readonly url: string
  /** The local token; none where users come with Firebase tokens. */
  readonly token: string | undefined
  /** Why Python tools can't run here, when that is so. */
  readonly withoutRunner: string | undefined
  /** The watched folder of modules, if there is one. */
  readonly watched: string | undefined
  /** Answers what is under way, then closes everything. */
  readonly stop: () => Promise<void>
}

/** Starts the embedded server: one process, one port. Rejects with a StartError. */
export async function serve(config: Config, log: Log, python: PythonChoice = {}): Promise<Serving> {
  if (!isFolder(config.definitionsFolder)) {
    throw new StartError(
      `TOOLRACK_DEFS_DIR: ${config.definitionsFolder} is not a folder that can be read.`,
      EXIT.badConfig,
    )
  }
  const { toolsFolder } = config
  if (toolsFolder?.isNamed && !isFolder(toolsFolder.path)) {
    throw new StartError(
      `TOOLRACK_TOOLS_DIR: ${toolsFolder.path} is not a folder that can be read.`,
      EXIT.badConfig,
    )
  }
  const { store, logs, authentication, token, release: releaseParts } = openParts(config, log)
  if (config.auth.kind === 'firebase' && config.auth.emulator)
    log.warn('FIREBASE_AUTH_EMULATOR_HOST is set: tokens of users need no signature')
  const runner = openRunner(config, python, log)
  const services = createServices({
    store,
    logs,
    files: (compilers) => new FileLayer(config.definitionsFolder, compilers),
    toolsFolder: toolsFolder?.path,
    runner,
    ...authentication,
    log,
    envelope: config.envelope,
    defaultWorkflow: config.defaultWorkflow,
    corsOrigins: config.corsOrigins,
  })
  const release = async (): Promise<void> => {
    await closeServices(services)
    releaseParts()
  }
  try {
    await firstLook(services.catalog, config)
    const bodies = new BodiesInFlight(bodyBudget(), config.auth.kind !== 'local')
    const listening = await listen(createApp({ ...services, bodies }), config.host, config.port)
    void services.folder?.folder.start()
    const stop = async (): Promise<void> => {
      await stopListening(listening)
      await release()
    }
    const health = await runner.health()
    const withoutRunner = health.status === 'absent' ? health.reason : undefined
    const watched = toolsFolder && isFolder(toolsFolder.path) ? toolsFolder.path : undefined
    return { url: listening.url, token, withoutRunner, watched, stop }
  } catch (error) {
    await release()
    throw error
  }
}

/** The embedded store is read however long it takes. For Firestore nobody waits longer than a request would: it may be away. */
async function firstLook(catalog: Catalog, { store, auth }: Config): Promise<void> {
  const loading = catalog.load()
  await (store === 'sqlite' ? loading : catalog.shared())
  if (auth.kind === 'local') await catalog.view({ uid: 'local' })
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
