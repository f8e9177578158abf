import { fileURLToPath } from 'node:url'
import { readConfig, type Config } from '../../config.ts'
import { logOf, harmless, type Log } from '../../../log.ts'
import { SchemaCompilers } from '../../../catalog/schemas/schema-compilers.ts'
import type { Runner } from '../../../catalog/definitions/runner.ts'
import { openRunner, type PythonChoice } from '../open-runner.ts'

/** What a command for authors uses of the service: the runner and the compilers, but no server and no store. */
export type AuthorSession = {
  readonly runner: Runner
  readonly compilers: SchemaCompilers
  readonly log: Log
  readonly callLimits: Config['callLimits']
  /** Ends every process that the session has started. */
  readonly close: () => Promise<void>
}

/** The data folder of `npm start` in this checkout. The installed packages of modules are in it. */
const DATA_FOLDER = fileURLToPath(new URL('../../../../../.toolrack', import.meta.url))

/** The configuration, with a data folder that does not depend on the folder in which the author works. Throws a ConfigError. */
function ownConfig(): Config {
  const { inForce, config } = readConfig()
  const isDefault = inForce.get('TOOLRACK_DATA')?.from === 'default'
  return isDefault ? { ...config(), dataFolder: DATA_FOLDER } : config()
}

/** Starts a runner as `npm start` does, with the same variables. Throws a ConfigError. Does not wait until the runner is ready. */
export function openSession(python: PythonChoice): AuthorSession {
  let isClosing = false
  const log = logOf((level, message) => {
    if (level === 'error' && !isClosing) process.stderr.write(`${harmless(message)}\n`)
  })
  const config = ownConfig()
  const runner = openRunner(config, python, log)
  const compilers = new SchemaCompilers({ log })
  return {
    runner,
    compilers,
    log,
    callLimits: config.callLimits,
    async close() {
      isClosing = true
      await Promise.all([runner.close(), compilers.close()])
    },
  }
}
