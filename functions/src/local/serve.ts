import { statSync } from 'node:fs'
import { localAuthentication } from '../access/local-token.ts'
import { createApp } from '../app.ts'
import type { Config } from '../config.ts'
import { FileLayer } from '../files/file-layer.ts'
import type { Log } from '../log.ts'
import { closeServices, createServices } from '../services.ts'
import { claimDataFolder } from './data-folder.ts'
import { listen, stopListening } from './listen.ts'
import { openStore } from './open-store.ts'
import { openToken } from './open-token.ts'
import { EXIT, StartError } from './start-error.ts'

export type Serving = {
  readonly url: string
  readonly token: string
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
  const token = openToken(folder.path)
  const services = createServices({
    store: () => store,
    files: (checker) => new FileLayer(config.definitionsFolder, checker),
    authenticate: localAuthentication(token),
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
    await services.catalog.view('local')
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
