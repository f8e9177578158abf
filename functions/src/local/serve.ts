import { statSync } from 'node:fs'
import { createApp } from '../app.ts'
import { authenticationOf } from '../authentication.ts'
import type { Config } from '../config.ts'
import { FileLayer } from '../files/file-layer.ts'
import type { Log } from '../log.ts'
import { closeServices, createServices } from '../services.ts'
import { claimDataFolder } from './data-folder.ts'
import { listen, stopListening } from './listen.ts'
import { openJobKeys } from './open-job-keys.ts'
import { openStore } from './open-store.ts'
import { openToken } from './open-token.ts'
import { EXIT, StartError } from './start-error.ts'

export type Serving = {
  readonly url: string
  /** The local token; none where users come with Firebase tokens. */
  readonly token: string | undefined
  /** Answers what is under way, then closes everything. */
  readonly stop: () => Promise<void>
}

/** Starts the embedded server: one process, one port, one SQLite file. Rejects with a StartError. */
export async function serve(config: Config, log: Log): Promise<Serving> {
  if (!isFolder(config.definitionsFolder)) {
    throw new StartError(
      `TOOLRACK_DEFS_DIR: ${config.definitionsFolder} is not a folder that can be read.`,
      EXIT.badConfig,
    )
  }
  const folder = claimDataFolder(config.dataFolder)
  const store = openStore(folder.path)
  const { auth, jobKeys = openJobKeys(folder.path) } = config
  const token = auth.kind === 'local' ? openToken(folder.path) : undefined
  if (auth.kind === 'firebase' && auth.emulator)
    log.warn('FIREBASE_AUTH_EMULATOR_HOST is set: tokens of users need no signature')
  const services = createServices({
    store: () => store,
    files: (checker) => new FileLayer(config.definitionsFolder, checker),
    ...authenticationOf({ auth, jobKeys }, token),
    log,
    envelope: config.envelope,
    defaultWorkflow: config.defaultWorkflow,
    corsOrigins: config.corsOrigins,
  })
  const release = async (): Promise<void> => {
    await closeServices(services)
    folder.release()
  }
  try {
    await services.catalog.load()
    await services.catalog.view({ uid: 'local' })
    const listening = await listen(createApp(services), config.host, config.port)
    const stop = async (): Promise<void> => {
      await stopListening(listening)
      await release()
    }
    return { url: listening.url, token, stop }
  } catch (error) {
    await release()
    throw error
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
