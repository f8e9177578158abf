import type { RequestListener } from 'node:http'
import { createApp } from '../../edge/app.ts'
import type { Family } from '../../edge/http/route.ts'
import { isProduction, parseConfig, unknownVariables } from '../config.ts'
import { cloudLog } from './log.ts'
import { cloudServices } from './services.ts'

export type Handler = (...request: Parameters<RequestListener>) => void

/**
 * The handler of one function. It opens and reads nothing before the first request. A deployed service checks its environment at
 * once, so that a bad environment makes the deployment fail, and not the requests.
 */
export function serving(family: Family): Handler {
  if (isProduction()) cloudConfig()
  let app: RequestListener | undefined
  return function serve(req, res) {
    app ??= open(family)
    app(req, res)
  }
}

/** Creates the app. The layers are read while the first caller's token is verified, because both take long in a new instance. */
function open(family: Family): RequestListener {
  for (const name of unknownVariables())
    cloudLog.warn('environment variable is not known and has no effect', { name })
  const services = cloudServices(cloudConfig(), cloudLog)
  void services.catalog.load()
  return createApp(services, family)
}

/** The configuration without HOST and PORT, because the platform decides on which address and port a function listens. */
function cloudConfig() {
  const store = { TOOLRACK_STORE: 'firestore', TOOLRACK_AUTH: 'firebase' }
  return parseConfig({ ...process.env, HOST: '', PORT: '', ...store })
}
